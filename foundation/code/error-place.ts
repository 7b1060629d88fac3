import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** How deep causes are looked into. */
const MAX_CAUSES = 5;
/** `/folder/file.ts:12` of a stack, or of the first line of a syntax error; as a path or a URL, whose generation does not count. */
const PLACE = /(file:\/\/[^\s)]+?|\/[^\s():]+)(?:\?[^\s:)]*)?:(\d+)(?::\d+)?/g;

/**
 * Where in a folder of code an error comes from, by its stack or that of a cause: `services/word.ts:12`. Undefined where no line of the folder is in it.
 */
export function placeOf(error: unknown, folder: string): string | undefined {
  for (let depth = 0, one = error; depth < MAX_CAUSES && one instanceof Error; depth += 1, one = one.cause) {
    for (const [, file = '', line] of (one.stack ?? '').matchAll(PLACE)) {
      const relative = path.relative(folder, file.startsWith('file:') ? toPath(file) : file);
      if (relative !== '' && !relative.startsWith('..') && !path.isAbsolute(relative))
        return `${relative}:${line}`;
    }
  }
  return undefined;
}

/** The name of the folder inside one of these from whose code an error comes. */
export function innerFolderOf(error: unknown, folders: readonly string[]): string | undefined {
  const places = folders.map((folder) => placeOf(error, path.resolve(folder)));
  return places.find((place) => place !== undefined)?.split(path.sep)[0];
}

function toPath(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    return '';
  }
}
