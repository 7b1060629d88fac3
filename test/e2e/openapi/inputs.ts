import fc from 'fast-check';
import type { Operation, Schema } from './contract.ts';

/** What is sent to an operation. */
export interface Input {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text is sent as it is, of the operation's content type; anything else as JSON. `undefined` sends none. */
  readonly body?: unknown;
  /** `null` sends none. */
  readonly token?: string | null;
}

/** Of nothing that there is. Made once: fast-check takes long to read a pattern. */
const UNKNOWN = fc.stringMatching(/^unknown[a-z]{8}$/);

/** Inputs that look valid, made of the schemas alone. Names in paths are of nothing that there is. */
export function inputsOf(operation: Operation): fc.Arbitrary<Input> {
  const place = (name: string) => operation.parameters.filter((parameter) => parameter.in === name);
  const text = (parameters: Operation['parameters']) =>
    fc
      .record(Object.fromEntries(parameters.map(({ name, schema }) => [name, valuesOf(schema)])), {
        requiredKeys: parameters.filter(({ required }) => required).map(({ name }) => name),
      })
      .map((values) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, `${value}`])));
  const [body] = Object.values(operation.requestBody?.content ?? {});
  return fc.record({
    params: UNKNOWN.map((name) =>
      Object.fromEntries(place('path').map((parameter) => [parameter.name, name])),
    ),
    query: text(place('query')),
    // Node's own client sends no other header.
    headers: text(place('header')).map((values) =>
      Object.fromEntries(
        Object.entries(values).map(([name, value]) => [name, value.replaceAll(/[^ -~]/g, '?')]),
      ),
    ),
    body: body === undefined ? fc.constant(undefined) : valuesOf(body.schema),
  });
}

/** Whether a call has to be signed, whatever credential comes beside it: the signature is looked at before the body. */
export function isSigned({ key, parameters }: Operation): boolean {
  return key !== 'POST /api/v1/nodes' && parameters.some(({ name }) => name === 'x-svc-signature');
}

/** What looks valid, and names nothing that there is. Whoever is refused is refused before anybody looks at it. */
export function harmless(operation: Operation): Input {
  const [{ body: _, ...rest } = {}] = fc.sample(inputsOf(operation), { numRuns: 1, seed: 1 });
  const needed = operation.parameters.filter((one) => one.in === 'query' && one.required);
  const query = Object.entries(rest.query ?? {}).filter(([name]) => needed.some((one) => one.name === name));
  return { ...rest, query: Object.fromEntries(query) };
}

/** Bodies that no schema of an object takes, and texts that are no JSON. */
export const WRONG_BODIES: readonly unknown[] = [null, [], '""', 7, true, '{"broken": ', ' '];

const TEXTS = [
  'a',
  'word',
  'two words',
  '2026-01-01T00:00:00Z',
  'agent-1',
  '7',
  'é ü 漢',
  'x'.repeat(40),
  '',
];

/** Values that fit a schema; where a text must match what none of ours does, the example that the schema shows. */
export function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  const inner = schema as {
    readonly type?: string;
    readonly enum?: readonly unknown[];
    readonly anyOf?: readonly Schema[];
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly required?: readonly string[];
    readonly items?: Schema;
    readonly minItems?: number;
    readonly minimum?: number;
    readonly maximum?: number;
    readonly minLength?: number;
    readonly maxLength?: number;
    readonly pattern?: string;
    readonly format?: string;
    readonly example?: unknown;
  };
  if (inner.enum !== undefined) return fc.constantFrom(...inner.enum);
  if (inner.anyOf !== undefined) return fc.oneof(...inner.anyOf.map(valuesOf));
  const { minimum = 0, maximum = 1_000, minItems = 0, minLength = 0, maxLength = 10_000 } = inner;
  switch (inner.type) {
    case 'object': {
      const members = Object.entries(inner.properties ?? {}).map(([name, one]) => [name, valuesOf(one)]);
      return fc.record(Object.fromEntries(members), { requiredKeys: [...(inner.required ?? [])] as never[] });
    }
    case 'array':
      return fc.uniqueArray(valuesOf(inner.items ?? {}), { minLength: minItems, maxLength: minItems + 2 });
    case 'integer':
      return fc.integer({ min: minimum, max: Math.min(maximum, minimum + 1_000) });
    case 'number':
      return fc.double({ min: minimum, max: maximum, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'string': {
      const fits = (text: string) =>
        text.length >= minLength &&
        text.length <= maxLength &&
        (inner.pattern === undefined || new RegExp(inner.pattern, 'u').test(text)) &&
        (inner.format !== 'date-time' || text.includes('T'));
      const shown = typeof inner.example === 'string' ? inner.example : 'word';
      return fc.constantFrom(fits('word') ? 'word' : shown, ...TEXTS.filter(fits));
    }
    default:
      return fc.jsonValue({ maxDepth: 1 });
  }
}
