/** Characters of a name. */
const MAX_NAME = 255;
/** Overrides of the direction of writing, by which `exe.txt` can be shown for `txt.exe`. */
const DIRECTIONS = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * A file's name as it is shown and offered for saving: the last part of a path, without control characters and
 * overrides of the direction, 1 to 255 characters, `file` where nothing is left. It is never used as a name on a disk.
 * Pure.
 */
export function displayName(given: string | undefined): string {
  const last = (given ?? '').toWellFormed().split(/[\\/]/).at(-1) ?? '';
  const name = last
    .replaceAll(DIRECTIONS, '')
    .replaceAll(/[\p{Cc}\u2028\u2029]/gu, ' ')
    .trim();
  const cut = [...name].slice(0, MAX_NAME).join('').trim();
  return cut === '' || cut === '.' || cut === '..' ? 'file' : cut;
}
