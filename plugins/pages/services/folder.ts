import { constants } from 'node:fs';
import { type FileHandle, open, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, ConfigurationError, KernelErrors, type Logger, throttledLog } from 'agent-gateway';

/** A regular file of the folder, open: its content stays readable, also when it is replaced or deleted. */
export interface OpenFile extends AsyncDisposable {
  /** Below the folder, as it was asked for: `static/app.js`. */
  readonly name: string;
  readonly handle: FileHandle;
  readonly size: number;
  /** Nanoseconds since the epoch. */
  readonly modifiedAt: bigint;
  /**
   * When content or metadata changed last, milliseconds since the epoch: no program can set it back, as `cp -p` does
   * with `modifiedAt`.
   */
  readonly changedAt: number;
  /** Stays the same as long as nothing was written. */
  readonly identity: string;
}

/** The folder of pages. Each request reads the file system again: a saved file is served at once. */
export interface Folder {
  /**
   * Opens a file by its path below the folder; `undefined` for a missing file, and for what must not be served: hidden
   * files, folders, pipes, links that lead out of the folder.
   *
   * @throws `gateway.unavailable` when the file system fails
   */
  open(name: string): Promise<OpenFile | undefined>;
  /**
   * What `/static/{name}` stands for: a file of the folder `static` in it, or, where there is none, of the folder
   * itself.
   */
  openAsset(name: string): Promise<OpenFile | undefined>;
}

/** The options of `openFolder`. */
interface FolderOptions {
  readonly path: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Logger;
}

/** Errors of the file system that a client sees as a missing file. */
const NOT_THERE: ReadonlySet<string | undefined> = new Set([
  'ENOENT',
  'ENOTDIR',
  'ENAMETOOLONG',
  'ELOOP',
  'ENXIO',
  'EINVAL',
]);
const NOT_READABLE: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM']);

/** @throws ConfigurationError, which stops the start, where there is no such folder */
export async function openFolder({ path: root, clock, log }: FolderOptions): Promise<Folder> {
  if (!(await isFolder(root))) {
    throw new ConfigurationError([
      { name: 'SAAS_STATIC_DIR', message: `${root} is not a folder that can be read` },
    ]);
  }
  const warn = throttledLog(clock, (err: unknown, times) =>
    log.warn({ err, times }, 'a file of SAAS_STATIC_DIR cannot be read'),
  );

  async function openFile(name: string): Promise<OpenFile | undefined> {
    if (!isVisible(name)) return undefined;
    try {
      // The folder itself may be a link that is moved to the next release, or be full of links, as Kubernetes mounts a
      // ConfigMap.
      const top = await realpath(root);
      const target = await realpath(path.join(top, name));
      return isWithin(top, target) ? await openRegular(name, target) : undefined;
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      if (NOT_THERE.has(code)) return undefined;
      if (!NOT_READABLE.has(code)) throw KernelErrors.unavailable('The file cannot be read now', { cause });
      warn(cause);
      return undefined;
    }
  }

  return {
    open: openFile,
    openAsset: async (name) =>
      openFile((await isFolder(path.join(root, 'static'))) ? `static/${name}` : name),
  };
}

/**
 * Whether a decoded path below a folder may be opened at all: each part is a name, none is hidden, and no character has
 * a special meaning on another operating system. Pure.
 */
export function isVisible(name: string): boolean {
  const isName = (part: string) => part !== '' && !part.startsWith('.') && !/[\\\p{Cc}]/u.test(part);
  return name.split('/').every(isName);
}

function isWithin(folder: string, file: string): boolean {
  return file.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep);
}

async function isFolder(name: string): Promise<boolean> {
  try {
    return (await stat(name)).isDirectory();
  } catch {
    return false;
  }
}

async function openRegular(name: string, target: string): Promise<OpenFile | undefined> {
  // O_NONBLOCK: opening a pipe would block until a writer opens it.
  const handle = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = await handle.stat({ bigint: true });
    if (found.isFile()) return describe(name, handle, found);
  } catch (failure) {
    await handle.close();
    throw failure;
  }
  await handle.close();
  return undefined;
}

type Stat = Awaited<ReturnType<typeof bigintStat>>;

function describe(name: string, handle: FileHandle, found: Stat): OpenFile {
  return {
    name,
    handle,
    size: Number(found.size),
    modifiedAt: found.mtimeNs,
    changedAt: Number(found.ctimeNs / 1_000_000n),
    identity: identityOf(found),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/**
 * Whether nothing was written into the file since it was opened. Replacing or deleting the file does not affect the
 * open handle.
 */
export async function isUnchanged({ handle, size, modifiedAt }: OpenFile): Promise<boolean> {
  const found = await bigintStat(handle);
  return Number(found.size) === size && found.mtimeNs === modifiedAt;
}

function bigintStat(handle: FileHandle) {
  return handle.stat({ bigint: true });
}

function identityOf({ dev, ino, size, mtimeNs, ctimeNs }: Stat): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':');
}
