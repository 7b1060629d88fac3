import { readdirSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** How deep causes are looked into. */
const MAX_CAUSES = 5;
/** `/folder/file.ts:12` of a stack, or of the first line of a syntax error; as a path or a URL, whose generation does not count. */
const PLACE = /(file:\/\/[^\s)]+?|\/[^\s():]+)(?:\?[^\s:)]*)?:(\d+)(?::\d+)?/g;

/**
 * Where in a folder of code an error comes from, by its stack or that of a cause: `services/word.ts:12`. Undefined where no line of the folder is in it. A stack has the
 * real paths of files, so the folder may be a link.
 */
export function placeOf(error: unknown, folder: string): string | undefined {
  const real = realOf(folder);
  for (let depth = 0, one = error; depth < MAX_CAUSES && one instanceof Error; depth += 1, one = one.cause) {
    for (const [, file = '', line] of (one.stack ?? '').matchAll(PLACE)) {
      const relative = path.relative(real, file.startsWith('file:') ? toPath(file) : file);
      if (relative !== '' && !relative.startsWith('..') && !path.isAbsolute(relative))
        return `${relative}:${line}`;
    }
  }
  return undefined;
}

/** The name of the folder inside one of these, or of the link there, from whose code an error comes. */
export function innerFolderOf(error: unknown, folders: readonly string[]): string | undefined {
  for (const folder of folders) {
    const name = entriesOf(folder).find((entry) => placeOf(error, path.join(folder, entry)) !== undefined);
    if (name !== undefined) return name;
  }
  return undefined;
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
