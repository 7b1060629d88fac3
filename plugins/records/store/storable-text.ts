/**
 * Text that a client, a model or a provider chose, as every database can keep it in a column of `length` characters: cut, and U+FFFD for
 * NUL and for half a surrogate pair, which PostgreSQL refuses. The same text always becomes the same, so that it is found again.
 */
export function storableText(text: string, length: number): string {
  const cut = text.length > length ? text.slice(0, length) : text;
  if (cut.isWellFormed() && !cut.includes('\0')) return cut;
  return cut.replaceAll('\0', '\ufffd').toWellFormed();
}
