/** The router calls the part behind `{rest*}` simply `*`. */
export function namedParams(
  pattern: string,
  params: Readonly<Record<string, string>>,
): Record<string, string> {
  const rest = params['*'];
  if (rest === undefined) return { ...params };
  const { '*': _, ...named } = params;
  const name = pattern.slice(pattern.lastIndexOf('{') + 1, -2);
  return { ...named, [name]: rest };
}
