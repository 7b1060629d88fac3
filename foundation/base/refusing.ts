import { KernelErrors } from './error-catalogue.ts';
import type { FieldError, GatewayError } from './gateway-error.ts';
import { isJsonObject } from './json-object.ts';

/** The members of a body, or of a query, that no schema has accepted yet: each may be absent, or have any type. */
export type UnreadBody = Readonly<Record<string, unknown>>;

/**
 * The `refuse` of a route with rules that its schema cannot express. A body that breaks its schema is refused with the
 * problems of both, so that its sender learns all of them at once; a place of which the schema complains is reported
 * once, with the schema's words.
 *
 * The rules get a body that was refused: they pass over members of a wrong type or size, of which the schema speaks,
 * throw nothing, and do no more work than the body is long. They are pure, and tell nothing that depends on who asks;
 * what needs a database or another server is checked after the body was accepted. The handler calls `requireSound`
 * with the same rules for a body that keeps to its schema. The query comes with the body, for rules that need it; the
 * rules of a route without a body get an empty one.
 *
 * @example
 * const problemsOf = ({ from, to }: UnreadBody): readonly FieldError[] =>
 *   typeof from === 'string' && typeof to === 'string' && from > to
 *     ? [{ pointer: '/body/from', message: 'must not be after `to`' }]
 *     : [];
 *
 * route({
 *   method: 'POST', path: '/v1/acme/reports', access: access.role('user'), summary: 'Make a report',
 *   schema: { body: Type.Object({ title: Type.String(), from: Type.String(), to: Type.String() }) },
 *   refuse: refusing(problemsOf),
 *   handle: async ({ body }) => {
 *     requireSound(problemsOf(body));
 *     return reports.make(body);
 *   },
 * });
 */
export function refusing(problemsOf: (body: UnreadBody, query: UnreadBody) => readonly FieldError[]) {
  return (errors: readonly FieldError[], body: unknown, query?: unknown): GatewayError => {
    const reported = new Set(errors.map(({ pointer }) => pointer));
    // Of a body that is missing or no object the schema speaks, where the route has one.
    const hasRules = isJsonObject(body) || (body === undefined && !reported.has('/body'));
    const found = hasRules ? problemsOf(membersOf(body), membersOf(query)) : [];
    const more = found.filter(({ pointer }) => !reported.has(pointer)).slice(0, MAX_MORE);
    return KernelErrors.invalidRequest(undefined, { errors: [...errors, ...more] });
  };
}

/** Problems that rules of a route add at most: each item of a long list may have one. */
const MAX_MORE = 100;

const membersOf = (value: unknown): UnreadBody => (isJsonObject(value) ? value : {});

/**
 * Accepts what has no problems: for a handler with rules that its schema cannot express. `refusing` has an example.
 *
 * @throws `request.invalid` with all problems, where there are any
 */
export function requireSound(problems: readonly FieldError[]): void {
  if (problems.length > 0) throw KernelErrors.invalidRequest(undefined, { errors: problems });
}
