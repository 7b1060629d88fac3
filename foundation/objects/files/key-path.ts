import path from 'node:path';

/**
 * Keys as paths that every file system can hold, one name for each segment of a key. A byte that is no lower-case
 * letter, digit, `-`, `_` or `.` is written as `%` and two hex digits, so that names which differ in case alone, or in
 * the Unicode form of an accent, stay different. A last character says what a name is, so that `a` and `a/b` do not
 * meet:
 *
 *     default/skills/weather/SKILL.md  →  default+/skills+/weather+/%53%4b%49%4c%4c.md=
 *
 * A segment of 80 bytes or more is cut into names of 80 bytes each and a rest below 80, which may be empty: the longest
 * name has 241 characters. What begins with the same 80 bytes is then in one folder, which keeps lists in order.
 */
export type NameKind = 'object' | 'folder' | 'continued';

/** The mark at the end of a name. */
const MARKS: Readonly<Record<NameKind, string>> = { object: '=', folder: '+', continued: '@' };
const KINDS = new Map(Object.entries(MARKS).map(([kind, mark]) => [mark, kind as NameKind]));

const CUT = 80;
const SLASH = 0x2f;
const PLAIN = /[a-z0-9_.-]/;
const ENCODED = /^(?:[a-z0-9_.-]|%[0-9a-f]{2})*$/;
/** Names that hide, and those that Windows keeps for devices: the first character is escaped. */
const SPECIAL = /^(?:\.|(?:con|prn|aux|nul|com\d|lpt\d)\.)/;

/** Path of the object with this (valid) key, relative to the store's folder. */
export function objectPath(key: string): string {
  const segments = key.split('/');
  const last = segments.pop() ?? '';
  return path.join(...segments.flatMap((each) => namesOf(each, 'folder')), ...namesOf(last, 'object'));
}

/** Path of the folder with all keys that begin with `prefix`, which ends with a slash or is empty; relative as well. */
export function folderPath(prefix: string): string {
  return path.join(
    '.',
    ...prefix
      .split('/')
      .slice(0, -1)
      .flatMap((each) => namesOf(each, 'folder')),
  );
}

/** What a name in a folder stands for. */
export interface NamePart {
  readonly kind: NameKind;
  /** What it adds to the key; a folder's ends with a slash. */
  readonly bytes: Buffer;
}

/**
 * Reads a name back; `undefined` when it is none that the functions above write, at the beginning of a segment or
 * within one.
 */
export function decodeName(name: string, isBeginning: boolean): NamePart | undefined {
  const kind = KINDS.get(name.slice(-1));
  const encoded = name.slice(0, -1);
  if (kind === undefined || !ENCODED.test(encoded)) return undefined;
  const bytes = Buffer.from(
    encoded.replace(/%(..)/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
  const fits = kind === 'continued' ? bytes.length === CUT : bytes.length < CUT;
  if (!fits || (bytes.length === 0 && isBeginning) || encode(bytes) !== encoded) return undefined;
  return { kind, bytes: kind === 'folder' ? Buffer.concat([bytes, Buffer.of(SLASH)]) : bytes };
}

function namesOf(segment: string, kind: NameKind): string[] {
  const bytes = Buffer.from(segment);
  const names: string[] = [];
  let start = 0;
  for (; bytes.length - start >= CUT; start += CUT) {
    names.push(encode(bytes.subarray(start, start + CUT)) + MARKS.continued);
  }
  names.push(encode(bytes.subarray(start)) + MARKS[kind]);
  return names;
}

function encode(bytes: Buffer): string {
  const text = Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte);
    return PLAIN.test(character) ? character : escaped(byte);
  }).join('');
  return SPECIAL.test(text) ? escaped(bytes[0]!) + text.slice(1) : text;
}

function escaped(byte: number): string {
  return `%${byte.toString(16).padStart(2, '0')}`;
}
