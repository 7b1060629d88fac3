/**
 * Text that a client, a model or a provider chose, as every database can keep it in a column of `length` characters: cut, and U+FFFD for
 * NUL and for half a surrogate pair, which PostgreSQL refuses. The same text always becomes the same, so that it is found again.
 */
export function storableText(text: string, length: number): string {
  return text.slice(0, length).replaceAll('\0', '\ufffd').toWellFormed();
}
