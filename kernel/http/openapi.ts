import type { TSchema } from 'typebox';
import type { CompiledRoute } from './compiled-route.ts';

/** An OpenAPI 3.0 document. */
export interface OpenApiDocument {
  readonly openapi: '3.0.3';
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly [member: string]: unknown;
}

const SECURED = [{ bearer: [] }];

/** Describes the given routes. Pure; what is mounted as a whole router is not described. */
export function openApiDocument(
  routes: readonly CompiledRoute[],
  info: OpenApiDocument['info'],
): OpenApiDocument {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    if (route.definition === undefined) continue;
    const path = route.pattern.replaceAll('*}', '}');
    paths[path] ??= {};
    paths[path][route.definition.method.toLowerCase()] = operation(route);
  }
  return {
    openapi: '3.0.3',
    info,
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => a.localeCompare(b))),
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
      },
    },
  };
}

function operation(route: CompiledRoute): object {
  const { definition, access } = route;
  const { schema = {}, summary, description, tag, bodyType, countsAsStream } = definition!;
  const parameters = [
    ...parametersOf(schema.params, 'path', true),
    ...parametersOf(schema.query, 'query', false),
    ...parametersOf(schema.headers, 'header', false),
  ];
  const mediaType = MEDIA_TYPES[bodyType ?? 'json'];
  return {
    summary,
    ...(description === undefined ? {} : { description }),
    operationId: operationId(route),
    tags: [tag ?? route.owner],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(schema.body === undefined
      ? {}
      : {
          requestBody: { required: true, content: { [mediaType]: { schema: toOpenApiSchema(schema.body) } } },
        }),
    responses: responsesOf(schema.responses, countsAsStream !== undefined),
    security: access.kind === 'public' ? [] : SECURED,
    'x-access': access,
  };
}

const MEDIA_TYPES = { json: 'application/json', text: 'text/plain', form: 'multipart/form-data' } as const;

function operationId({ definition, pattern }: CompiledRoute): string {
  const words = pattern.split(/[^A-Za-z0-9]+/).filter(Boolean);
  return [definition!.method.toLowerCase(), ...words].join('_');
}

function parametersOf(schema: TSchema | undefined, place: string, isRequired: boolean): object[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, TSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: isRequired || (required.includes(name) && !('default' in property)),
    schema: toOpenApiSchema(property),
  }));
}

/** A route that counts as an event stream may answer with one where it else answers 200. */
function responsesOf(
  responses: Readonly<Record<number, TSchema | null>> = { 200: {} },
  mayStream: boolean,
): object {
  const stream = { 'text/event-stream': { schema: { type: 'string' } } };
  const entries = Object.entries(responses).map(([status, schema]) => [
    status,
    {
      description:
        (schema as { description?: string } | null)?.description ?? DESCRIPTIONS[status] ?? 'Success',
      ...(schema === null
        ? {}
        : {
            content: {
              'application/json': { schema: toOpenApiSchema(schema) },
              ...(mayStream && status === '200' ? stream : {}),
            },
          }),
    },
  ]);
  return Object.fromEntries([
    ...entries,
    ['default', { description: 'An error, in the dialect of the route' }],
  ]);
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  '200': 'Success',
  '201': 'Created',
  '202': 'Accepted',
  '204': 'Success without content',
};

/**
 * A JSON Schema in the dialect of OpenAPI 3.0, which knows neither `const`, nor lists of types, nor `null` as a type.
 * Annotations that start with `~` or are symbols stay behind, and so does `patternErrorMessage`, which is for our own messages.
 */
export function toOpenApiSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toOpenApiSchema);
  if (typeof schema !== 'object' || schema === null) return schema;
  return convertNull(convertKeywords(schema as Schema));
}

type Schema = Record<string, unknown>;

/** Keywords that OpenAPI 3.0 does not have. */
const OWN: ReadonlySet<string> = new Set(['$schema', '$id', 'patternErrorMessage']);

function convertKeywords(schema: Schema): Schema {
  const converted: Schema = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key.startsWith('~') || OWN.has(key)) continue;
    if (key === 'const') converted.enum = [value];
    else if (key === 'examples' && Array.isArray(value)) converted.example = value[0];
    else if (key === 'exclusiveMinimum') Object.assign(converted, { minimum: value, exclusiveMinimum: true });
    else if (key === 'exclusiveMaximum') Object.assign(converted, { maximum: value, exclusiveMaximum: true });
    else if (key === 'patternProperties')
      converted.additionalProperties = toOpenApiSchema(Object.values(value as Schema)[0]);
    else if (key === 'properties') converted.properties = mapValues(value as Schema, toOpenApiSchema);
    else if (key === 'enum' || key === 'default' || key === 'required' || key === 'example')
      converted[key] = value;
    else converted[key] = toOpenApiSchema(value);
  }
  return converted;
}

function convertNull(schema: Schema): Schema {
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== 'null');
    const { type, ...rest } = schema;
    const nullable = types.length < (type as unknown[]).length ? { nullable: true } : {};
    return types.length === 1
      ? { ...rest, type: types[0], ...nullable }
      : { ...rest, anyOf: types.map((one) => ({ type: one })), ...nullable };
  }
  if (schema.type === 'null') return { nullable: true, enum: [null] };
  if (!Array.isArray(schema.anyOf)) return schema;
  const forms = (schema.anyOf as Schema[]).filter((form) => !isNull(form));
  if (forms.length === schema.anyOf.length) return schema;
  const { anyOf, ...rest } = schema;
  return forms.length === 1
    ? { ...rest, ...forms[0], nullable: true }
    : { ...rest, anyOf: forms, nullable: true };
}

function isNull(form: Schema): boolean {
  return (
    form.nullable === true && Array.isArray(form.enum) && form.enum.length === 1 && form.enum[0] === null
  );
}

function mapValues(record: Schema, map: (value: unknown) => unknown): Schema {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
