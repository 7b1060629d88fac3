/**
 * True where a database can hold the text: then it can be compared with columns. PostgreSQL refuses a statement with U+0000 in it, and half of a
 * surrogate pair would become another character; nothing is stored under such an id.
 */
export function isSearchable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
