const MAX_SHOWN = 80;

/** A name from a graph as a message shows it: in quotation marks, on one line, and not longer than 80 characters. */
export function quote(name: string): string {
  const shown = name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name;
  return JSON.stringify(shown.toWellFormed());
}

/** Names as a message lists them: `"a", "b" and 3 more`. */
export function quoteAll(names: readonly string[], most = 20): string {
  const shown = names.slice(0, most).map(quote).join(', ');
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}

/** What a value is, for messages that must not show it. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'missing';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'string' ? 'a string' : `a ${typeof value}`;
}
