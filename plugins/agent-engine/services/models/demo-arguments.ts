import { pointerPath } from 'agent-gateway';

/** What a prompt offers as values. Numbers are handed out in their order, each once. */
interface Hints {
  readonly text: string;
  readonly expression: string | undefined;
  readonly url: string | undefined;
  readonly numbers: number[];
  readonly root: Schema;
  /** Values that may still be made: schemas come from callers, and a short one can describe a huge value. */
  budget: number;
}

const MOST_VALUES = 500;
const DEEPEST = 12;
/** Below this, values are as empty as their schema allows: so schemas that refer to themselves come to an end. */
const DEEP = 4;
const MOST_ITEMS = 16;
const LONGEST_STRING = 4096;

const FORMATS: Readonly<Record<string, string>> = {
  date: '2025-01-01',
  'date-time': '2025-01-01T00:00:00Z',
  time: '00:00:00Z',
  duration: 'PT1M',
  email: 'demo@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

/**
 * A value that satisfies a JSON Schema, made from what a text offers: its arithmetic, its URL, its numbers in order,
 * quoted text, or else the whole text. Optional properties are left out unless the text holds just the right thing for
 * them. `pattern` is not looked at: it comes from callers, and trying it could take for ever.
 *
 * @param type what a schema that names no type is taken for
 */
export function fillSchema(schema: Schema, text: string, type?: string): unknown {
  const hints: Hints = {
    text: /"([^"]{1,500})"/.exec(text)?.[1] ?? text.trim(),
    expression: findExpression(text),
    url: /\bhttps?:\/\/[^\s"'<>)\]]+/i.exec(text)?.[0],
    numbers: [...text.matchAll(/-?\d+(?:\.\d+)?/g)].map(Number),
    root: schema,
    budget: MOST_VALUES,
  };
  return fill(type === undefined ? schema : { type, ...schema }, '', hints, 0);
}

/** The first arithmetic expression of a text, undefined when there is none. */
export function findExpression(text: string): string | undefined {
  for (const [match] of text.matchAll(/[-(]?\d[\d.\s()+\-*/^%×÷]*/g)) {
    const expression = match
      .replaceAll('×', '*')
      .replaceAll('÷', '/')
      .replace(/[^\d)]+$/, '')
      .trim();
    const isDate = /^\d{4}-\d{2}-\d{2}$/.test(expression);
    const isBalanced = expression.split('(').length === expression.split(')').length;
    if (!isDate && isBalanced && /[\d)]\s*[-+*/^%]\s*[(-]*\d/.test(expression)) return expression;
  }
  return undefined;
}

function fill(given: unknown, name: string, hints: Hints, depth: number): unknown {
  hints.budget -= 1;
  if (depth > DEEPEST || hints.budget < 0) return null;
  const schema = simplify(given, hints.root);
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return choose(schema.enum, hints.text);
  const specific = specificHint(schema, name, hints);
  if (specific !== undefined) return specific;
  if ('default' in schema) return schema.default;
  const example = Array.isArray(schema.examples) ? schema.examples[0] : undefined;
  if (example !== undefined && ('pattern' in schema || 'format' in schema)) return example;
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(alternatives)) {
    const isDeep = depth > DEEP;
    const first =
      alternatives.find((one) => ((one as Schema | null)?.type === 'null') === isDeep) ?? alternatives[0];
    return fill(
      { ...schema, anyOf: undefined, oneOf: undefined, ...simplify(first, hints.root) },
      name,
      hints,
      depth + 1,
    );
  }
  return fillType(schema, name, hints, depth);
}

function fillType(schema: Schema, name: string, hints: Hints, depth: number): unknown {
  switch (typeOf(schema, depth > DEEP)) {
    case 'object':
      return fillObject(schema, hints, depth);
    case 'array':
      return fillArray(schema, name, hints, depth);
    case 'integer':
    case 'number':
      return fillNumber(schema, hints);
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return fillString(schema, hints);
  }
}

function fillObject(schema: Schema, hints: Hints, depth: number): Record<string, unknown> {
  const properties = (schema.properties ?? {}) as Schema;
  const required = new Set(Array.isArray(schema.required) ? (schema.required as string[]) : []);
  const names = [...required, ...Object.keys(properties).filter((name) => !required.has(name))];
  const entries = names.flatMap((name): [string, unknown][] => {
    const property = Object.hasOwn(properties, name) ? properties[name] : {};
    const isWanted =
      required.has(name) || specificHint(simplify(property, hints.root), name, hints) !== undefined;
    return isWanted && hints.budget > 0 ? [[name, fill(property, name, hints, depth + 1)]] : [];
  });
  // fromEntries, since a property may be called __proto__.
  return Object.fromEntries(entries);
}

function fillArray(schema: Schema, name: string, hints: Hints, depth: number): unknown[] {
  const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  const wanted = Math.max(depth > DEEP ? 0 : 1, prefix.length, numberOf(schema.minItems) ?? 0);
  const length = Math.min(wanted, numberOf(schema.maxItems) ?? wanted, MOST_ITEMS);
  return Array.from({ length }, (_, index) =>
    fill(prefix[index] ?? schema.items ?? {}, name, hints, depth + 1),
  );
}

function fillNumber(schema: Schema, hints: Hints): number {
  const isInteger = typeOf(schema) === 'integer';
  const step = numberOf(schema.multipleOf) ?? (isInteger ? 1 : 0);
  const gap = step || 0.5;
  const above = numberOf(schema.exclusiveMinimum);
  const below = numberOf(schema.exclusiveMaximum);
  const least = Math.max(
    numberOf(schema.minimum) ?? -Infinity,
    above === undefined ? -Infinity : above + gap,
  );
  const most = Math.min(numberOf(schema.maximum) ?? Infinity, below === undefined ? Infinity : below - gap);
  const value = Math.min(most, Math.max(least, hints.numbers.shift() ?? 1));
  if (step === 0) return value;
  const rounded = Math.floor(value / step) * step;
  return rounded < least ? rounded + step : rounded;
}

function fillString(schema: Schema, hints: Hints): string {
  const format = typeof schema.format === 'string' ? FORMATS[schema.format] : undefined;
  if (format !== undefined) return format;
  const longest = Math.min(numberOf(schema.maxLength) ?? LONGEST_STRING, LONGEST_STRING);
  const shortest = Math.min(numberOf(schema.minLength) ?? 0, longest);
  // JSON Schema counts characters, not UTF-16 units.
  const characters = [...hints.text].slice(0, longest);
  return characters.join('') + '.'.repeat(Math.max(0, shortest - characters.length));
}

/** What the text holds for exactly this property, recognized by the property's name or format. */
function specificHint(schema: Schema, name: string, hints: Hints): string | undefined {
  if (typeOf(schema) !== 'string' || 'enum' in schema || 'const' in schema) return undefined;
  if (/expression|formula|calculation/i.test(name)) return hints.expression;
  if (/^(?:url|uri|link)$/i.test(name) || schema.format === 'uri') return hints.url;
  return undefined;
}

function choose(values: readonly unknown[], text: string): unknown {
  const mentioned = values.find((value) => typeof value === 'string' && value !== '' && text.includes(value));
  return mentioned ?? values[0];
}

/** A JSON Schema as it comes from callers: anything may be in it. */
type Schema = Readonly<Record<string, unknown>>;

/** `$ref`s that are followed one after the other; a circle of them ends here. */
const MOST_HOPS = 12;

/** The schema with its local `$ref` followed and its `allOf` merged. `true` and what is no schema are `{}`. */
function simplify(given: unknown, root: Schema): Schema {
  const { allOf, ...own } = dereference(given, root);
  if (!Array.isArray(allOf)) return own;
  const parts = [own, ...allOf.map((part) => dereference(part, root))];
  return {
    ...Object.assign({}, ...parts),
    properties: Object.assign({}, ...parts.map((part) => asSchema(part.properties))),
    required: parts.flatMap((part) => (Array.isArray(part.required) ? part.required : [])),
  };
}

/** The type that a value of this schema should have; where there is a choice, the first that is `null` or is not. */
function typeOf(schema: Schema, isNull = false): unknown {
  const { type } = schema;
  if (Array.isArray(type)) return type.find((one) => (one === 'null') === isNull) ?? type[0];
  return type ?? ('properties' in schema ? 'object' : 'items' in schema ? 'array' : 'string');
}

/** A keyword's value if it is a number. */
function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function dereference(given: unknown, root: Schema): Schema {
  let schema = asSchema(given);
  for (let hops = 0; typeof schema.$ref === 'string' && hops < MOST_HOPS; hops += 1) {
    const { $ref, ...siblings } = schema;
    schema = { ...follow(String($ref), root), ...siblings };
  }
  return schema;
}

function follow(reference: string, root: Schema): Schema {
  if (reference === '#') return root;
  if (!reference.startsWith('#/')) return {};
  let target: unknown = root;
  for (const key of pointerPath(reference.slice(1))) {
    target = Object.hasOwn(asSchema(target), key) ? asSchema(target)[key] : undefined;
  }
  return asSchema(target);
}

function asSchema(value: unknown): Schema {
  return typeof value === 'object' && value !== null ? (value as Schema) : {};
}
