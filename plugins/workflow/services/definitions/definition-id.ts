const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** True for text that can be the id of a stored definition. What cannot is unknown without asking a database, which may refuse it. */
export function isDefinitionId(text: string): boolean {
  return ID.test(text);
}
