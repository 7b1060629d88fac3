import { readdirSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { causesOf } from '../base/failure.ts';

/**
 * `/folder/file.ts:12` of a stack, or of the first line of a syntax error; as a path or a URL, whose generation does
 * not count.
 */
const PLACE = /(file:\/\/[^\s)]+?|\/[^\s():]+)(?:\?[^\s:)]*)?:(\d+)(?::\d+)?/g;

/**
 * Where in a folder of code an error comes from, by its stack or that of a cause: `services/word.ts:12`. Undefined
 * where no line of the folder is in it. A stack has the real paths of files, so the folder may be a link.
 */
export function placeOf(error: unknown, folder: string): string | undefined {
  const real = realOf(folder);
  for (const { file, line } of framesOf(error)) {
    if (isInside(file, real)) return `${path.relative(real, file)}:${line}`;
  }
  return undefined;
}

/**
 * Of several folders of code, or links to them, the one in which an error has its origin: code of others may have
 * called it.
 */
export function originOf<T extends { readonly folder: string }>(
  error: unknown,
  candidates: readonly T[],
): T | undefined {
  const reals = candidates.map((candidate) => ({ candidate, real: realOf(candidate.folder) }));
  for (const { file } of framesOf(error)) {
    const found = reals.find(({ real }) => isInside(file, real));
    if (found !== undefined) return found.candidate;
  }
  return undefined;
}

/** The name of the folder inside one of these, or of the link there, in whose code an error has its origin. */
export function innerFolderOf(error: unknown, folders: readonly string[]): string | undefined {
  const inner = folders.flatMap((folder) =>
    entriesOf(folder).map((name) => ({ name, folder: path.join(folder, name) })),
  );
  return originOf(error, inner)?.name;
}

/** The lines of an error's stack, and after them those of its causes. */
function* framesOf(error: unknown): Iterable<{ readonly file: string; readonly line: string }> {
  for (const one of causesOf(error)) {
    for (const [, file = '', line = ''] of (one.stack ?? '').matchAll(PLACE))
      yield { file: file.startsWith('file:') ? toPath(file) : file, line };
  }
}

function isInside(file: string, folder: string): boolean {
  return file.startsWith(folder + path.sep);
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function realOf(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    // It is gone, or has never been a file, as that of a plugin that is made in a test.
    return path.resolve(folder);
  }
}

function toPath(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    return '';
  }
}
