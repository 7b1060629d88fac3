/*
 * Paths of routes: text with parameters. `{id}` is what stands there up to the next slash, hyphen or dot, `{rest*}` at
 * the end all that follows.
 */

const PATTERN = /^\/(?:[^{}*?#()\s:]|(?<!\/):|\{[A-Za-z_]\w*\}(?=[-./]|$))*(?:\{[A-Za-z_]\w*\*\})?$/;

/** @throws Error that names `label` for a path that the router would read as something else */
export function checkPathPattern(label: string, pattern: string): void {
  if (!pattern.startsWith('/')) throw new Error(`${label}: a path starts with a slash`);
  if (PATTERN.test(pattern)) return;
  throw new Error(
    `${label}: a path is text with parameters such as {id}, each up to a slash, hyphen or dot; {rest*} stands at the end. It has no spaces, none of ? # * ( ), and no part such as :id`,
  );
}

/** The same for patterns that match the same paths: `/v1/{}/x`. */
export function shapeOf(pattern: string): string {
  return pattern.replaceAll(/\{[^}]*\}/g, '{}');
}

/** As find-my-way writes it: `/v1/:id/x`; a literal colon is doubled. */
export function routerPath(pattern: string): string {
  return pattern
    .replaceAll(':', '::')
    .replace(/\{[^}]*\*\}$/, '*')
    .replaceAll(/\{([^}]+)\}/g, ':$1');
}

/** The names of its parameters, in their order. */
export function paramNames(pattern: string): readonly string[] {
  return [...pattern.matchAll(/\{(\w+)\*?\}/g)].map(([, name = '']) => name);
}

/** What the router has found, by the names of the pattern: the router calls the part behind `{rest*}` simply `*`. */
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
