import type { TSchema } from 'typebox';
import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import type { GatewayError } from '../../foundation/base/gateway-error.ts';
import {
  ANSWER_HEADERS,
  COMMON_HEADERS,
  ERROR_BODIES,
  errorHeaderNames,
  LIMIT_HEADERS,
  STATUS_DESCRIPTIONS,
} from '../../foundation/base/openapi-parts.ts';
import { toOpenApiContent, toOpenApiSchema } from '../../foundation/base/openapi-schema.ts';
import { Type } from '../../foundation/base/type.ts';
import { EgressErrors } from '../../foundation/egress/errors.ts';
import type { ErrorDialect } from '../../foundation/errors/render.ts';
import { ERROR_TYPES, renderError } from '../../foundation/errors/render.ts';
import { HTTP_STATUS } from '../../foundation/errors/status.ts';
import { TenantErrors } from '../../foundation/tables/tenant.ts';
import type { RouteSchema } from '../api/route.ts';
import { AuthErrors } from '../auth/errors.ts';
import type { CompiledRoute } from './compiled-route.ts';

const ref = (part: string, name: string) => ({ $ref: `#/components/${part}/${name}` });

/** The answers of a route by status: those declared, and the shared errors of every route of its form. */
export function answersOf(route: CompiledRoute): Readonly<Record<string, object>> {
  const { answerType = 'application/json', countsAsStream, schema } = route.definition!;
  const { responses = countsAsStream ? {} : { 200: {} }, stream = SOME_EVENTS }: RouteSchema = schema ?? {};
  const declared: Record<string, Record<string, TSchema>> = {};
  for (const [status, answer] of Object.entries(responses))
    declared[status] = answer === null ? {} : { [mediaType(answerType)]: answer };
  if (countsAsStream) declared[200] = { ...declared[200], 'text/event-stream': stream };
  return Object.fromEntries([
    ...errorsOf(route).map((status) => [status, ref('responses', `${route.errors}-${status}`)]),
    ...Object.entries(declared).map(([status, content]) => [status, declaredAnswer(route, status, content)]),
  ]);
}

const SOME_EVENTS = Type.String({ description: 'Server-sent events', examples: ['data: {}\n\n'] });

/** The members of an object schema. */
export function membersOf(schema: TSchema | undefined): readonly (readonly [string, TSchema])[] {
  return Object.entries((schema as { properties?: Record<string, TSchema> } | undefined)?.properties ?? {});
}

/** What the answers of these routes refer to. */
export function sharedAnswers(routes: readonly CompiledRoute[]): Readonly<Record<string, object>> {
  const dialects = new Set(routes.map(({ errors }) => errors));
  const used = new Map(
    routes.flatMap((route) =>
      errorsOf(route).map((status) => [`${route.errors}-${status}`, [route.errors, status] as const]),
    ),
  );
  const examples = new Map(errorExamples().map((error) => [HTTP_STATUS[error.kind], error]));
  const responses = [...used].map(([name, [dialect, status]]) => [
    name,
    errorAnswer(dialect, status, examples.get(Number(status))),
  ]);
  const schemas = [...dialects].map((dialect) => {
    const { title, schema } = ERROR_BODIES[dialect];
    return [title, toOpenApiSchema(schema)];
  });
  return {
    headers: ANSWER_HEADERS,
    responses: Object.fromEntries(responses),
    schemas: Object.fromEntries(schemas),
  };
}

/** One that the gateway gives for each status where it has one. */
function errorExamples(): readonly GatewayError[] {
  return [
    KernelErrors.invalidRequest(undefined, { errors: [{ pointer: '/body/name', message: 'is required' }] }),
    AuthErrors.required(),
    AuthErrors.forbidden(),
    TenantErrors.notFound(),
    TenantErrors.isDeleted(),
    TenantErrors.isPurged(),
    KernelErrors.bodyTooLarge(),
    KernelErrors.unsupportedMedia(),
    KernelErrors.rateLimited(),
    KernelErrors.internal(),
    EgressErrors.unreachable(),
    KernelErrors.unavailable(),
    EgressErrors.timeout(),
  ];
}

function errorAnswer(
  dialect: ErrorDialect,
  status: number | 'default',
  error: GatewayError | undefined,
): object {
  const example = error && renderError(error, dialect, '00000000-0000-7000-8000-000000000000').body;
  return {
    description: STATUS_DESCRIPTIONS[status],
    headers: headersOf(errorHeaderNames(dialect, status)),
    content: {
      [mediaType(ERROR_TYPES[dialect])]: {
        schema: ref('schemas', ERROR_BODIES[dialect].title),
        ...(example && { example }),
      },
    },
  };
}

function declaredAnswer(
  route: CompiledRoute,
  status: string,
  content: Readonly<Record<string, TSchema>>,
): object {
  const own = membersOf(route.definition!.schema?.answerHeaders);
  const [first] = Object.values(content);
  return {
    description:
      (first as { description?: string } | undefined)?.description ??
      STATUS_DESCRIPTIONS[Number(status)] ??
      'Answer',
    headers: {
      ...headersOf([...COMMON_HEADERS, ...(route.rateLimit === 'none' ? [] : LIMIT_HEADERS)]),
      ...Object.fromEntries(own.map(([name, one]) => [name, { schema: toOpenApiSchema(one) }])),
    },
    ...(first === undefined
      ? {}
      : {
          content: Object.fromEntries(
            Object.entries(content).map(([type, schema]) => [type, toOpenApiContent(schema)]),
          ),
        }),
  };
}

/** The statuses of the errors that a route of this form can answer with. */
function errorsOf(route: CompiledRoute): readonly (number | 'default')[] {
  const { access, definition, pattern, rateLimit, validators } = route;
  const { failures = [], method, schema } = definition!;
  const isProtected = access.kind !== 'public';
  const preconditions = membersOf(schema?.headers).some(([name]) => name === 'if-match');
  // What is read with a body changes nothing.
  const isRead = method === 'GET' || (access.kind === 'open' && access.scopes.join() === 'read');
  const statuses = [
    // The user's id is checked where there is one, without a schema.
    ...(isProtected || Object.keys(validators).length > 0 ? [400] : []),
    // Also where any credential will do: one may refuse what is done with it, as a cookie without its CSRF header.
    ...(isProtected ? [401, 403] : []),
    ...(pattern.includes('{') ? [404] : []),
    ...(isRead ? [] : [409]),
    ...(preconditions ? [412] : []),
    ...(validators.body === undefined ? [] : [413, 415]),
    ...(rateLimit === 'none' ? [] : [429]),
    ...failures.map((kind) => HTTP_STATUS[kind]),
    500,
    503,
  ].filter((status) => STATUS_DESCRIPTIONS[status]);
  return [...[...new Set(statuses)].toSorted((a, b) => a - b), 'default'];
}

/** A content type without its parameters. */
function mediaType(type: string): string {
  return type.split(';', 1)[0]!.trim();
}

function headersOf(names: readonly (keyof typeof ANSWER_HEADERS)[]): Readonly<Record<string, object>> {
  return Object.fromEntries(names.map((name) => [name, ref('headers', name)]));
}
