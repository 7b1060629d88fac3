import { compileSchema } from '../../../foundation/base/json-schema.ts';

/** A JSON schema of the document. */
export type Schema = Readonly<Record<string, unknown>>;

/** A parameter of an operation. */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: Schema;
}

/** One content type of a body. */
export interface Content {
  readonly schema: Schema;
  readonly example?: unknown;
}

/** An answer of an operation: content types with their schemas, or a reference to a shared one. */
interface Answer {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, Content>>;
}

/** What the document says of an operation. */
export interface Operation {
  /** `GET /v1/me`. */
  readonly key: string;
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: Readonly<Record<string, Content>>;
  };
  readonly responses: Readonly<Record<string, Answer>>;
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly 'x-access': { readonly kind: string; readonly operator?: boolean };
  readonly 'x-required-roles'?: readonly string[];
  readonly 'x-required-scopes'?: readonly string[];
}

/** An OpenAPI document as far as the test reads it. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Omit<Operation, 'key'>>>>>;
  readonly components: {
    readonly responses: Record<string, Answer>;
    readonly headers: Record<string, unknown>;
    readonly schemas: Record<string, unknown>;
  };
}

export function operationsOf({ paths }: Document): readonly Operation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([verb, operation]) => {
      const method = verb.toUpperCase();
      return { ...operation, parameters: operation.parameters ?? [], key: `${method} ${path}`, method, path };
    }),
  );
}

/** What came back, as it was. */
export interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * Where an answer and the document differ; empty where it is as it was described. An answer that only `default` covers
 * was not described.
 */
export function differences(document: Document, operation: Operation, received: Received): readonly string[] {
  const { status, headers, text } = received;
  const described = operation.responses[String(status)];
  if (described === undefined) return [`the status ${status} is not in the document`];
  const answer = resolve(document, described);
  const type = headers.get('content-type')?.split(';', 1)[0];
  if (answer.content === undefined) {
    const unexpected = text === '' ? [] : [`${status} has content of type ${type}, and should have none`];
    return [...headerDifferences(answer, received), ...unexpected];
  }
  const content = answer.content[type ?? ''] ?? answer.content['*/*'];
  if (content === undefined)
    return [`${status} is ${type}, and should be ${Object.keys(answer.content).join(' or ')}`];
  const value = /json$/.test(type ?? '') ? JSON.parse(text) : text;
  return [
    ...headerDifferences(answer, received),
    ...check(document, content.schema, value).map((problem) => `${status}: ${problem}`),
  ];
}

/** Headers of HTTP itself, and of CORS, which the document leaves out. */
const OF_HTTP =
  /^(?:access-control-.*|cache-control|connection|content-(?:length|type)|date|keep-alive|transfer-encoding|vary|x-accel-buffering)$/;

function headerDifferences(answer: Answer, { status, headers }: Received): readonly string[] {
  const described = Object.keys(answer.headers ?? {});
  const known = new Set(described.map((name) => name.toLowerCase()));
  const untold = [...headers.keys()].filter((name) => !OF_HTTP.test(name) && !known.has(name));
  const always = described.filter(
    (name) => name === 'X-Request-ID' || (status < 300 && /^X-RateLimit/.test(name)),
  );
  return [
    ...untold.map((name) => `${status} has the header ${name}, which is not in the document`),
    ...always.filter((name) => !headers.has(name)).map((name) => `${status} has no header ${name}`),
  ];
}

export function check(document: Document, schema: Schema, value: unknown): readonly string[] {
  let whole = checked.get(schema);
  if (whole === undefined) {
    whole = toJsonSchema({ ...schema, components: { schemas: document.components.schemas } }) as Schema;
    checked.set(schema, whole);
  }
  return compileSchema(
    whole,
    {},
  )(value).map(({ instancePath, message }) => `${instancePath || 'the body'} ${message}`);
}

const checked = new WeakMap<Schema, Schema>();

function resolve({ components }: Document, answer: Answer): Answer {
  return answer.$ref === undefined ? answer : components.responses[answer.$ref.split('/').at(-1)!]!;
}

/** The JSON Schema that means what a schema of OpenAPI 3.0 means. */
export function toJsonSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toJsonSchema);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { nullable, exclusiveMinimum, exclusiveMaximum, ...rest } = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      ['enum', 'example', 'default', 'required'].includes(key) ? value : toJsonSchema(value),
    ]),
  );
  const bounds = {
    ...(exclusiveMinimum === true ? { exclusiveMinimum: rest.minimum } : {}),
    ...(exclusiveMaximum === true ? { exclusiveMaximum: rest.maximum } : {}),
  };
  // Validated as closed: what the gateway tells and the document does not is a difference, too.
  const isOpen = rest.properties === undefined || rest.additionalProperties !== undefined;
  const plain = { ...rest, ...bounds, ...(isOpen ? {} : { additionalProperties: false }) };
  return nullable === true ? { anyOf: [plain, { type: 'null' }] } : plain;
}
