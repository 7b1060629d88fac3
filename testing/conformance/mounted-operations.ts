import type { TSchema } from 'typebox';
import type { Route } from '../../kernel/api/route.ts';
import type { CompiledRoute } from '../../kernel/http/compiled-route.ts';

/** An operation of OpenAPI 3.0, as far as the suite reads it. */
interface Operation {
  readonly summary?: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content?: Content };
  readonly responses?: Readonly<Record<string, { readonly content?: Content }>>;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema?: object;
}

type Content = Readonly<Record<string, { readonly schema?: object }>>;

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/**
 * What a mounted router says of its paths in `openapi`, as routes that the suite can sample:
 * `GET /legacy/hello/{name}`. A router that says nothing has none. Its schemas are OpenAPI's, so their words are not
 * checked, and an answer is compared with one only where it is a JSON Schema, too.
 */
export function mountedOperations(mount: CompiledRoute): readonly CompiledRoute[] {
  const prefix = mount.pattern.slice(0, -'/{rest*}'.length);
  return Object.entries(mount.openapi ?? {}).flatMap(([path, item]) => {
    const shared = (item.parameters ?? []) as readonly Parameter[];
    return METHODS.filter((method) => method in item).map((method) =>
      operationRoute(mount, `${prefix}${path}`, method.toUpperCase(), item[method] as Operation, shared),
    );
  });
}

function operationRoute(
  mount: CompiledRoute,
  pattern: string,
  method: string,
  operation: Operation,
  shared: readonly Parameter[],
): CompiledRoute {
  const parameters = [...shared, ...(operation.parameters ?? [])];
  const { summary = mount.summary } = operation;
  const body = jsonOf(operation.requestBody?.content);
  const definition: Route = {
    method: method as Route['method'],
    path: pattern,
    access: mount.access,
    summary,
    schema: {
      params: objectOf(parameters.filter((parameter) => parameter.in === 'path')),
      query: objectOf(parameters.filter((parameter) => parameter.in === 'query')),
      ...(body === undefined ? {} : { body }),
      responses: answersOf(operation),
    },
    ...(operation.deprecated === true ? { deprecated: REPLACED } : {}),
    handle: () => undefined,
  };
  return { ...mount, kind: 'route', methods: [method], pattern, summary, definition, openapi: undefined };
}

/** OpenAPI does not say since when. */
const REPLACED = { since: new Date(0), sunset: new Date(0), successor: '' };

function objectOf(parameters: readonly Parameter[]): TSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(parameters.map(({ name, schema = {} }) => [name, schema])),
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
  } as TSchema;
}

/** The answers by their statuses. `default` and `4XX` stand for every status that is an error of the caller. */
function answersOf({ responses = {} }: Operation): Record<number, TSchema | null> {
  const answers: Record<number, TSchema | null> = {};
  for (const [status, { content }] of Object.entries(responses)) {
    const isRange = status === 'default' || status.toUpperCase() === '4XX';
    const schema = content === undefined ? (isRange ? {} : null) : (jsonOf(content) ?? {});
    if (!isRange) answers[Number(status)] = schema as TSchema | null;
    else for (let error = 400; error < 500; error += 1) answers[error] ??= schema as TSchema;
  }
  return answers;
}

function jsonOf(content: Content | undefined): TSchema | undefined {
  return content?.['application/json']?.schema as TSchema | undefined;
}
