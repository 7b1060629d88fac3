import { lstat, readlink } from 'node:fs/promises';

/** One thing of the host that is seen inside. */
export type VisibleFolder =
  | { readonly path: string; readonly kind: 'folder' }
  | { readonly path: string; readonly kind: 'link'; readonly target: string };

/** What interpreters need, and no more: `/usr` as a whole may hold the gateway itself, in `/usr/src/app` for example. */
const CANDIDATES = [
  '/usr/bin',
  '/usr/lib',
  '/usr/lib32',
  '/usr/lib64',
  '/usr/local/bin',
  '/usr/local/lib',
  '/usr/share/zoneinfo',
  '/bin',
  '/lib',
  '/lib32',
  '/lib64',
  '/etc/alternatives',
  '/etc/ld.so.cache',
];

/** Those of the folders that this machine has. A link stays a link, as on systems where `/bin` is `/usr/bin`. */
export async function findVisibleFolders(): Promise<readonly VisibleFolder[]> {
  const found = await Promise.all(CANDIDATES.map(look));
  return found.filter((folder) => folder !== undefined);
}

async function look(path: string): Promise<VisibleFolder | undefined> {
  const status = await lstat(path).catch(() => undefined);
  if (status === undefined) return undefined;
  return status.isSymbolicLink()
    ? { path, kind: 'link', target: await readlink(path) }
    : { path, kind: 'folder' };
}

/** Those of the paths that would be seen inside. */
export function exposedPaths(paths: readonly string[], folders: readonly VisibleFolder[]): readonly string[] {
  return paths.filter((path) =>
    folders.some((folder) => folder.kind === 'folder' && path.startsWith(`${folder.path}/`)),
  );
}
