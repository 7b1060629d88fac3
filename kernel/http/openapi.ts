import type { TSchema } from 'typebox';
import { toOpenApiSchema } from '../../foundation/base/openapi-schema.ts';
import { BODY_TYPES } from '../../foundation/http/body.ts';
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
  '`X-Request-ID` may be sent, and is in every answer. GET is answered to HEAD as well.';

/** Describes the given routes, and the credentials that are taken. Pure; what is mounted as a whole router is not described. */
export function openApiDocument(
  routes: readonly CompiledRoute[],
  version: string,
  kinds: readonly CredentialKind[],
): OpenApiDocument {
  const schemes = securitySchemes(kinds);
  const described = routes.filter(({ definition }) => definition !== undefined && !definition.deprecated);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of described) {
    const path = route.pattern.replaceAll('*}', '}');
    paths[path] ??= {};
    paths[path][route.definition!.method.toLowerCase()] = operation(route, Object.keys(schemes));
  }
  return {
    openapi: '3.0.3',
    info: { title: 'Agent gateway', version, description: DESCRIPTION },
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => a.localeCompare(b))),
    components: {
      securitySchemes: schemes,
      ...sharedAnswers(new Set(described.map(({ errors }) => errors))),
    },
  };
}

function operation(route: CompiledRoute, schemes: readonly string[]): object {
  const { access, definition } = route;
  const { schema = {}, summary, description, tag, bodyOptional, bodyType, failures, method } = definition!;
  const parameters = [
    ...parametersOf(schema.params, 'path', true),
    ...parametersOf(schema.query, 'query', false),
    ...parametersOf(schema.headers, 'header', false),
  ];
  const needsCredential = access.kind !== 'public' || failures?.includes('unauthenticated') === true;
  const { sentence, members } = describedAccess(access, method, schemes, needsCredential);
  return {
    summary,
    description: description === undefined ? sentence : `${description}\n\n${sentence}`,
    operationId: operationId(route),
    tags: [tag ?? route.owner],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(schema.body === undefined
      ? {}
      : {
          requestBody: {
            required: bodyOptional !== true,
            content: { [BODY_TYPES[bodyType ?? 'json']]: { schema: toOpenApiSchema(schema.body) } },
          },
        }),
    responses: answersOf(route),
    ...members,
  };
}

function operationId({ definition, pattern }: CompiledRoute): string {
  const words = pattern.split(/[^A-Za-z0-9]+/).filter(Boolean);
  return [definition!.method.toLowerCase(), ...words].join('_');
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
