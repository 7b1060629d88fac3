/** A JSON Schema as it comes from callers: anything may be in it. */
export type Schema = Readonly<Record<string, unknown>>;

/** `$ref`s that are followed one after the other; a circle of them ends here. */
const MOST_HOPS = 12;

/** The schema with its local `$ref` followed and its `allOf` merged. `true` and what is no schema are `{}`. */
export function simplify(given: unknown, root: Schema): Schema {
  const { allOf, ...own } = dereference(given, root);
  if (!Array.isArray(allOf)) return own;
  const parts = [own, ...allOf.map((part) => dereference(part, root))];
  return {
    ...Object.assign({}, ...parts),
    properties: Object.assign({}, ...parts.map((part) => asSchema(part.properties))),
    required: parts.flatMap((part) => (Array.isArray(part.required) ? part.required : [])),
  };
}

/** The type that a value of this schema should have; the first that is not `null` where there is a choice. */
export function typeOf(schema: Schema): unknown {
  const { type } = schema;
  if (Array.isArray(type)) return type.find((one) => one !== 'null') ?? 'null';
  return type ?? ('properties' in schema ? 'object' : 'items' in schema ? 'array' : 'string');
}

/** A keyword's value if it is a number. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function dereference(given: unknown, root: Schema): Schema {
  let schema = asSchema(given);
  for (let hops = 0; typeof schema.$ref === 'string' && hops < MOST_HOPS; hops += 1) {
    const { $ref, ...beside } = schema;
    schema = { ...follow(String($ref), root), ...beside };
  }
  return schema;
}

function follow(reference: string, root: Schema): Schema {
  if (reference === '#') return root;
  if (!reference.startsWith('#/')) return {};
  let target: unknown = root;
  for (const part of reference.slice(2).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    target = Object.hasOwn(asSchema(target), key) ? asSchema(target)[key] : undefined;
  }
  return asSchema(target);
}

function asSchema(value: unknown): Schema {
  return typeof value === 'object' && value !== null ? (value as Schema) : {};
}
