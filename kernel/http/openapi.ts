import type { TSchema } from 'typebox';
import { toOpenApiContent, toOpenApiSchema } from '../../foundation/base/openapi-schema.ts';
import { Type } from '../../foundation/base/type.ts';
import { BODY_TYPES } from '../../foundation/http/body.ts';
import { METHODS } from '../../foundation/http/node-http.ts';
import { paramNames } from '../../foundation/http/path-pattern.ts';
import type { CompiledRoute } from './compiled-route.ts';
import { type CredentialKind, describedAccess, securitySchemes } from './openapi-access.ts';
import { answersOf, membersOf, sharedAnswers } from './openapi-answers.ts';

/** An OpenAPI 3.0 document. */
export interface OpenApiDocument {
  readonly openapi: '3.0.3';
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly [member: string]: unknown;
}

const DESCRIPTION =
  'The routes that are live now. `X-Svc-User-Id` names the user that a credential speaks for: sessions, memories and profiles are his. ' +
  '`X-Request-ID` may be sent, and is in every answer. GET is answered to HEAD as well, where its operation does not say that it is not.';

/** Describes the given routes, and the credentials that are taken. Pure. */
export function openApiDocument(
  routes: readonly CompiledRoute[],
  version: string,
  kinds: readonly CredentialKind[],
): OpenApiDocument {
  const schemes = securitySchemes(kinds);
  const described = routes.filter(({ definition }) => definition !== undefined && !definition.deprecated);
  const paths: Record<string, Record<string, unknown>> = {};
  const ids = new Map<string, number>();
  for (const route of described) {
    const path = route.pattern.replaceAll('*}', '}');
    const id = operationId(route);
    // Of `/a-b` and `/a/b`, say.
    const namesakes = ids.get(id) ?? 0;
    ids.set(id, namesakes + 1);
    paths[path] ??= {};
    paths[path][route.definition!.method.toLowerCase()] = {
      operationId: namesakes === 0 ? id : `${id}${namesakes + 1}`,
      ...operation(route, Object.keys(schemes)),
    };
  }
  Object.assign(paths, mountedPaths(routes, Object.keys(schemes)));
  return {
    openapi: '3.0.3',
    info: { title: 'Agent gateway', version, description: DESCRIPTION },
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => a.localeCompare(b))),
    components: {
      securitySchemes: schemes,
      ...sharedAnswers(described),
    },
  };
}

/**
 * Describes what is live at each call. The document is made at the first, and anew when a route or a kind of credential
 * has come or gone: making it takes as long as many requests, and whoever makes an API key asks for it.
 */
export function liveOpenApi(
  routes: () => readonly CompiledRoute[],
  kinds: () => readonly CredentialKind[],
  version: string,
): () => OpenApiDocument {
  let parts: readonly object[] = [];
  let document: OpenApiDocument;
  return () => {
    const live = [kinds(), ...routes()];
    if (live.length !== parts.length || live.some((part, index) => part !== parts[index])) {
      document = openApiDocument(routes(), version, kinds());
      parts = live;
    }
    return document;
  };
}

function operation(route: CompiledRoute, schemes: readonly string[]): object {
  const { access, definition, pattern } = route;
  const { schema = {}, summary, description, tag, bodyOptional, bodyType, failures, method } = definition!;
  const parameters = [
    ...parametersOf(pathParameters(schema.params, pattern), 'path', true),
    ...parametersOf(schema.query, 'query', false),
    ...parametersOf(schema.headers, 'header', false),
  ];
  const needsCredential = access.kind !== 'public' || failures?.includes('unauthenticated') === true;
  const { sentence, members } = describedAccess(access, method, schemes, needsCredential);
  return {
    summary,
    description: description === undefined ? sentence : `${description}\n\n${sentence}`,
    tags: [tag ?? route.owner],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(schema.body === undefined
      ? {}
      : {
          requestBody: {
            required: bodyOptional !== true,
            content: { [BODY_TYPES[bodyType ?? 'json']]: toOpenApiContent(schema.body) },
          },
        }),
    responses: answersOf(route),
    ...members,
  };
}

/** A name for a method of a client: `getV1TenantsById` for `GET /v1/tenants/{id}`. */
function operationId({ definition, pattern }: CompiledRoute): string {
  const words = pattern
    .replaceAll('{', 'by-')
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean);
  const named = (words.length === 0 ? ['root'] : words).map((word) => word[0]!.toUpperCase() + word.slice(1));
  return [definition!.method.toLowerCase(), ...named].join('');
}

/** The parameters of a path; those that its schema does not name are described as any text. */
function pathParameters(schema: TSchema | undefined, pattern: string): TSchema {
  const described = new Map(membersOf(schema));
  const names = paramNames(pattern);
  return Type.Object(Object.fromEntries(names.map((name) => [name, described.get(name) ?? Type.String()])));
}

function parametersOf(schema: TSchema | undefined, place: string, isRequired: boolean): object[] {
  const { required = [] } = (schema ?? {}) as { required?: string[] };
  return (
    membersOf(schema)
      // OpenAPI says it by the content types of the answers, and ignores a parameter of this name.
      .filter(([name]) => place !== 'header' || name !== 'accept')
      .map(([name, property]) => {
        const { description, ...described } = toOpenApiSchema(property) as Record<string, unknown>;
        return {
          name,
          in: place,
          required: isRequired || (required.includes(name) && !('default' in property)),
          ...(description === undefined ? {} : { description }),
          schema: described,
        };
      })
  );
}

type PathItem = Readonly<Record<string, unknown>>;

/**
 * What the document says of mounted routers: their own words and the access rule, or that they answer below a prefix.
 */
function mountedPaths(
  routes: readonly CompiledRoute[],
  schemes: readonly string[],
): Readonly<Record<string, PathItem>> {
  return Object.fromEntries(
    routes.flatMap((route) => {
      const { openapi, pattern, summary } = route;
      if (openapi === undefined) return [];
      const prefix = pattern.slice(0, -'/{rest*}'.length);
      const items = Object.entries(openapi);
      if (items.length === 0) return [[prefix || '/', { summary, description: BELOW }]];
      return items.map(([path, item]) => [`${prefix}${path}`, withAccess(item, route, schemes)]);
    }),
  );
}

const BELOW = 'A router answers here and below, and says no more of its paths.';

function withAccess(item: PathItem, { access, owner }: CompiledRoute, schemes: readonly string[]): PathItem {
  return Object.fromEntries(
    Object.entries(item).map(([method, operation]) => {
      const verb = method.toUpperCase();
      if (!METHODS.includes(verb)) return [method, operation];
      const { members } = describedAccess(access, verb, schemes, access.kind !== 'public');
      return [method, { tags: [owner], ...(operation as object), ...members }];
    }),
  );
}
