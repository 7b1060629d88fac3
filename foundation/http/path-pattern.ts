/*
 * Paths of routes: text with parameters. `{id}` is what stands there up to the next slash, hyphen or dot, and is never
 * empty; `{rest*}` at the end is all that follows, if anything.
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

/** True where a parameter is empty, which the router allows: `/v1/tenants/` is no tenant, but a path of nobody. */
export function isPartMissing(params: Readonly<Record<string, string | undefined>>): boolean {
  for (const name in params) if (params[name] === '' && name !== '*') return true;
  return false;
}

/** Paths that a caller may have meant: base URLs of clients have `/v1`, or not, and some clients add a slash. */
export function nearPaths(path: string): readonly string[] {
  return [`/v1${path}`, path.replace(/^\/v1\//, '/'), path.replace(/\/$/, '')];
}
