import { misspelledMember } from '../base/nearest-name.ts';
import { isObject, wrong } from './definition-form.ts';

type Form = readonly [is: (value: unknown) => boolean, should: string];

/** The lists of texts that each kind of access rule has. */
const RULES: Readonly<Record<string, readonly string[]>> = {
  public: [],
  open: ['scopes'],
  authenticated: [],
  credential: ['methods'],
  roles: ['roles', 'scopes'],
  governance: ['scopes'],
};

const FORMS = {
  path: [(value) => typeof value === 'string', 'a text'],
  method: oneOf('GET', 'POST', 'PUT', 'PATCH', 'DELETE'),
  access: [isRule, "a rule, such as access.role('user'): nothing is served without one"],
  summary: [(value) => typeof value === 'string' && value !== '', 'a sentence'],
  handle: [isFunction, 'a function'],
  errors: optional(oneOf('problem', 'openai', 'coze')),
  bodyType: optional(oneOf('json', 'text', 'form', 'raw')),
  bodyLimit: optional([(value) => Number.isInteger(value) && Number(value) >= 0, 'a whole number of bytes']),
  countsAsStream: optional([isFunction, 'a function']),
  refuse: optional([isFunction, 'a function']),
  rateLimit: optional([
    isLimit,
    "'standard', 'bootstrap', 'none', or { perMinute: a whole number from 1, by: a function }",
  ]),
} satisfies Readonly<Record<string, Form>>;

/** Of a stage around requests. */
const STAGE = {
  name: [(value) => typeof value === 'string' && value !== '', 'a text that is not empty'],
  order: optional([Number.isFinite, 'a number']),
  timeoutMs: optional([
    (value) => Number(value) >= 1 && Number(value) <= 30_000,
    '1 to 30000 (milliseconds)',
  ]),
  onFailure: optional(oneOf('refuse', 'pass')),
  before: optional([isFunction, 'a function']),
  admitted: optional([isFunction, 'a function']),
} satisfies Readonly<Record<string, Form>>;

const { access, summary, handle, bodyLimit, rateLimit } = FORMS;

/**
 * What is looked at, by what is served: a route of HTTP, a mounted router, a method of gRPC; and of a stage around
 * them.
 */
const MEMBERS = {
  route: FORMS,
  mount: { access, summary, bodyLimit, rateLimit },
  method: { access, summary, handle },
  stage: STAGE,
} satisfies Readonly<Record<string, Readonly<Record<string, Form>>>>;

/** Further members of these, whose form is not looked at. */
const OTHERS = {
  route: [
    'description',
    'tag',
    'schema',
    'rawBody',
    'bodyOptional',
    'answerType',
    'failures',
    'deprecated',
    'head',
  ],
  mount: ['openapi'],
  method: ['effect', 'request', 'rateLimit', 'countsAsStream', 'timeout'],
  stage: [],
} satisfies Readonly<Record<keyof typeof MEMBERS, readonly string[]>>;

const SCHEMA = ['params', 'query', 'headers', 'body', 'responses', 'stream', 'answerHeaders'];

/**
 * Refuses what would fail with its first call, or with the document of all routes, since a member has the wrong form,
 * and what would be left out since its name is misspelled: the check of a body, for example. The compiler says it to
 * authors who ask it; plugins are loaded without that.
 *
 * @param label names it in the message: `GET /v1/notes`
 * @throws Error that names the member, what it is and what it should be
 */
export function checkServed(kind: keyof typeof MEMBERS, label: string, served: object): void {
  for (const [member, [is, should]] of Object.entries<Form>(MEMBERS[kind])) {
    const value = (served as Readonly<Record<string, unknown>>)[member];
    if (!is(value)) throw new Error(`${label}: ${wrong(member, value, should)}`);
  }
  const { schema } = served as { readonly schema?: unknown };
  const misspelled =
    misspelledMember(served, [...Object.keys(MEMBERS[kind]), ...OTHERS[kind]]) ??
    (kind === 'route' && isObject(schema) ? misspelledMember(schema, SCHEMA) : undefined);
  if (misspelled !== undefined) throw new Error(`${label}: ${misspelled}`);
}

function isRule(value: unknown): boolean {
  if (!isObject(value)) return false;
  // A rule that names no kind of credential lets nobody in.
  const least = value.kind === 'credential' ? 1 : 0;
  const isList = (list: unknown) =>
    Array.isArray(list) && list.length >= least && list.every((text) => typeof text === 'string');
  return RULES[String(value.kind)]?.every((name) => isList(value[name])) ?? false;
}

function isLimit(value: unknown): boolean {
  if (!isObject(value)) return ['standard', 'bootstrap', 'none'].includes(value as string);
  return Number.isInteger(value.perMinute) && Number(value.perMinute) >= 1 && isFunction(value.by);
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}

function oneOf(...texts: readonly string[]): Form {
  return [(value) => texts.includes(value as string), `one of ${texts.join(', ')}`];
}

function optional([is, should]: Form): Form {
  return [(value) => value === undefined || is(value), should];
}
