import type { TSchema } from 'typebox';
import { toOpenApiSchema } from '../../foundation/base/openapi-schema.ts';
import { Type } from '../../foundation/base/type.ts';
import type { ErrorDialect, RouteSchema } from '../api/route.ts';
import { ERROR_TYPES } from '../errors/render.ts';
import { HTTP_STATUS } from '../errors/status.ts';
import type { CompiledRoute } from './compiled-route.ts';

const ref = (part: string, name: string) => ({ $ref: `#/components/${part}/${name}` });

/** The answers of a route by status: what it declares, and the errors of every route of its form, which are shared components. */
export function answersOf(route: CompiledRoute): Readonly<Record<string, object>> {
  const { responses = { 200: {} } }: RouteSchema = route.definition!.schema ?? {};
  const errors = [...errorStatuses(route), 'default'];
  return Object.fromEntries([
    ...errors.map((status) => [status, ref('responses', `${route.errors}-${status}`)]),
    ...Object.entries(responses).map(([status, answer]) => [status, declaredAnswer(route, status, answer)]),
  ]);
}

/** The members of an object schema. */
export function membersOf(schema: TSchema | undefined): readonly (readonly [string, TSchema])[] {
  return Object.entries((schema as { properties?: Record<string, TSchema> } | undefined)?.properties ?? {});
}

/** What the document has once, under the names that `answersOf` refers to. */
export function sharedAnswers(dialects: ReadonlySet<ErrorDialect>): Readonly<Record<string, object>> {
  const statuses = [...new Set(Object.values(HTTP_STATUS))].filter((status) => DESCRIPTIONS[status]);
  const responses = [...dialects].flatMap((dialect) =>
    [...statuses, 'default' as const].map((status) => [
      `${dialect}-${status}`,
      {
        description: DESCRIPTIONS[status],
        headers: headersOf([...COMMON_HEADERS, ...LIMIT_HEADERS, ...(ERROR_HEADERS[status] ?? [])]),
        content: {
          [mediaType(ERROR_TYPES[dialect])]: { schema: ref('schemas', ERROR_SCHEMAS[dialect].title) },
        },
      },
    ]),
  );
  const schemas = [...dialects].map((dialect) => {
    const { title, schema } = ERROR_SCHEMAS[dialect];
    return [title, toOpenApiSchema(schema)];
  });
  return { headers: HEADERS, responses: Object.fromEntries(responses), schemas: Object.fromEntries(schemas) };
}

/** A route that counts as an event stream may answer with one where it else answers 200. */
function declaredAnswer(route: CompiledRoute, status: string, schema: TSchema | null): object {
  const { answerType = 'application/json', countsAsStream, schema: all } = route.definition!;
  const own = membersOf(all?.answerHeaders).map(([name, one]) => [name, { schema: toOpenApiSchema(one) }]);
  const mayStream = countsAsStream !== undefined && status === '200';
  return {
    description:
      (schema as { description?: string } | null)?.description ?? DESCRIPTIONS[Number(status)] ?? 'Answer',
    headers: {
      ...headersOf([...COMMON_HEADERS, ...(route.rateLimit === 'none' ? [] : LIMIT_HEADERS)]),
      ...Object.fromEntries(own),
    },
    ...(schema === null
      ? {}
      : {
          content: {
            [mediaType(answerType)]: { schema: toOpenApiSchema(schema) },
            ...(mayStream ? { 'text/event-stream': { schema: { type: 'string' } } } : {}),
          },
        }),
  };
}

/** The statuses of the errors that a route of this form can answer with. */
function errorStatuses(route: CompiledRoute): readonly number[] {
  const { access, definition, pattern, rateLimit, validators } = route;
  const { failures = [], method, schema } = definition!;
  const isProtected = access.kind !== 'public';
  const preconditions = membersOf(schema?.headers).some(([name]) => name === 'if-match');
  const statuses = [
    // The user's id is checked where there is one, without a schema.
    ...(isProtected || Object.keys(validators).length > 0 ? [400] : []),
    ...(isProtected ? [401] : []),
    ...(isProtected && access.kind !== 'authenticated' ? [403] : []),
    ...(pattern.includes('{') ? [404] : []),
    ...(method === 'GET' ? [] : [409]),
    ...(preconditions ? [412] : []),
    ...(validators.body === undefined ? [] : [413, 415]),
    ...(rateLimit === 'none' ? [] : [429]),
    ...failures.map((kind) => HTTP_STATUS[kind]),
    500,
    503,
  ];
  return [...new Set(statuses)].toSorted((a, b) => a - b);
}

/** A content type without its parameters. */
function mediaType(type: string): string {
  return type.split(';', 1)[0]!.trim();
}

const text = { type: 'string' };
const integer = { type: 'integer' };

const HEADERS = {
  'X-Request-ID': { description: "The client's own, or a new one", schema: text },
  'X-RateLimit-Limit': { description: 'Requests a minute', schema: integer },
  'X-RateLimit-Remaining': { description: 'Requests that are left', schema: integer },
  'Retry-After': { description: 'Seconds to wait', schema: integer },
  'WWW-Authenticate': { description: 'How to authenticate', schema: text },
  'x-should-retry': {
    description: 'false: repeating it cannot help',
    schema: { type: 'string', enum: ['false'] },
  },
} as const;
const COMMON_HEADERS = ['X-Request-ID'] as const;
const LIMIT_HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining'] as const;
const ERROR_HEADERS: Readonly<Record<string, readonly (keyof typeof HEADERS)[]>> = {
  401: ['WWW-Authenticate'],
  409: ['x-should-retry'],
  429: ['Retry-After'],
  502: ['x-should-retry'],
  503: ['Retry-After'],
};

function headersOf(names: readonly (keyof typeof HEADERS)[]): Readonly<Record<string, object>> {
  return Object.fromEntries(names.map((name) => [name, ref('headers', name)]));
}

/** Of statuses without one nothing is described. */
const DESCRIPTIONS: Readonly<Record<number | 'default', string>> = {
  200: 'Success',
  201: 'Created',
  202: 'Accepted',
  204: 'Success without content',
  400: 'Bad input: all that is wrong with it',
  401: 'No credential, or one that does not hold',
  403: 'The credential does not allow this',
  404: 'There is no such thing, or it is of another tenant',
  409: 'The state of things does not allow this',
  410: 'It is gone for good',
  412: 'It has changed meanwhile',
  413: 'The body is too large',
  415: 'The body has another content type',
  416: 'There are no such bytes',
  429: 'Too many requests',
  500: 'A failure of the gateway',
  502: 'A failure of what the gateway called',
  503: 'Not now: the gateway starts or stops, or its database is away',
  504: 'What the gateway called took too long',
  default: 'Another error',
};

/** The bodies of errors (`errors/render.ts`). */
const ERROR_SCHEMAS: Readonly<Record<ErrorDialect, { readonly title: string; readonly schema: TSchema }>> = {
  problem: {
    title: 'Problem',
    schema: Type.Object({
      type: Type.String(),
      title: Type.String(),
      status: Type.Integer(),
      detail: Type.String(),
      instance: Type.String({ description: 'The id of the request' }),
      code: Type.String({ description: 'Stable, for programs' }),
      errors: Type.Optional(
        Type.Array(
          Type.Object(
            {
              pointer: Type.String({
                description: 'JSON pointer; begins with params, query, headers or body',
              }),
              message: Type.String(),
            },
            { additionalProperties: true },
          ),
          { description: 'Every bad field' },
        ),
      ),
    }),
  },
  openai: {
    title: 'OpenAiError',
    schema: Type.Object({
      error: Type.Object({
        message: Type.String(),
        type: Type.String(),
        param: Type.Union([Type.String(), Type.Null()]),
        code: Type.String(),
      }),
    }),
  },
  coze: {
    title: 'CozeError',
    schema: Type.Object({
      code: Type.Integer(),
      msg: Type.String(),
      detail: Type.Object({ logid: Type.String() }),
    }),
  },
};
