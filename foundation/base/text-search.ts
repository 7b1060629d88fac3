import { Type } from './type.ts';

/**
 * Records that one search looks at: the first ones of its list, among those that the other filters let through.
 */
export const SEARCHED_RECORDS = 10_000;

/** Longest text that is searched for, in characters. */
const MAX_TEXT = 128;

/** The member `q` of a list's query. `names` are the members of a record that are looked into, as clients know them. */
export function searchQuery(...names: readonly string[]) {
  return {
    q: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_TEXT,
        // Databases keep neither, so nothing could be found.
        pattern: '^[^\\u0000\\p{Cs}]+$',
        patternErrorMessage: 'must not hold the character U+0000, or half of a surrogate pair',
        description:
          `Only records with this text in ${names.join(', ')}. A to Z are the same as a to z, all other characters stand for themselves. ` +
          `Of what the other filters let through, the first ${SEARCHED_RECORDS} of the list are searched, and \`total\` counts among them`,
      }),
    ),
  };
}

/** A text with the letters A to Z as a to z, and everything else as it is: the same on every database. */
export function foldCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** True where one of the texts holds `wanted`, as a search in a database finds it: for lists that are in memory. */
export function holdsText(texts: readonly string[], wanted: string): boolean {
  const folded = foldCase(wanted);
  return texts.some((text) => foldCase(text).includes(folded));
}
