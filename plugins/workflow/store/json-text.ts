/**
 * JSON values as texts. PostgreSQL's own JSON refuses U+0000 and halves of surrogate pairs, and MySQL's sorts members and rounds numbers;
 * `JSON.stringify` escapes the two, and a text comes back as it was.
 */
export function toText(value: unknown): string {
  return JSON.stringify(value);
}

/** The same; null stays null, so that the database knows what is not there. */
export function toTextOrNull(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}

/** What a text says. Members named `__proto__` become own members like any other. */
export function fromText<T>(text: string): T {
  return JSON.parse(text) as T;
}

/** The same of what may be null. */
export function fromTextOrNull<T>(text: string | null | undefined): T | null {
  return text === null || text === undefined ? null : (JSON.parse(text) as T);
}
