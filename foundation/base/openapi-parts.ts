import { Type } from './type.ts';

/*
 * What every OpenAPI document of the gateway says of its answers.
 */

const text = { type: 'string' };
const integer = { type: 'integer' };

/** Headers of answers, by name. */
export const ANSWER_HEADERS = {
  'X-Request-ID': { description: "The client's own, or a new one", schema: text },
  'X-RateLimit-Limit': { description: 'Requests a minute', schema: integer },
  'X-RateLimit-Remaining': { description: 'Requests that are left', schema: integer },
  'Retry-After': { description: 'Seconds to wait', schema: integer },
  'WWW-Authenticate': { description: 'How to authenticate', schema: text },
  'x-tt-logid': { description: 'The same id as `X-Request-ID`, where Coze has it', schema: text },
  'x-should-retry': {
    description: 'false: repeating it cannot help',
    schema: { type: 'string', enum: ['false'] },
  },
} as const;
/** Those of all answers. */
export const COMMON_HEADERS = ['X-Request-ID'] as const;
/** Those of answers of routes with a limit. */
export const LIMIT_HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining'] as const;
/** Those of errors, by status. */
const ERROR_HEADERS: Readonly<Record<string, readonly (keyof typeof ANSWER_HEADERS)[]>> = {
  401: ['WWW-Authenticate'],
  409: ['x-should-retry'],
  429: ['Retry-After'],
  502: ['x-should-retry'],
  503: ['Retry-After'],
};

/** Errors of other statuses are covered by `default`. */
export const STATUS_DESCRIPTIONS: Readonly<Record<number | 'default', string>> = {
  200: 'Success',
  201: 'Created',
  202: 'Accepted',
  204: 'Success without content',
  206: 'A part of the content',
  302: 'Go on elsewhere',
  304: 'It is what the client has',
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

/** The bodies of errors by dialect (decisions 0.1), as `foundation/errors/render.ts` writes them. */
export const ERROR_BODIES = {
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
} as const;

/** The headers of an error of a dialect with this status. */
export function errorHeaderNames(dialect: keyof typeof ERROR_BODIES, status: number | 'default') {
  const own = dialect === 'coze' ? (['x-tt-logid'] as const) : [];
  return [...COMMON_HEADERS, ...LIMIT_HEADERS, ...own, ...(ERROR_HEADERS[status] ?? [])];
}
