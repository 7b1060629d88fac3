import type { TSchema } from 'typebox';
import type { CompiledRoute } from '../../kernel/http/compiled-route.ts';

/** A JSON schema as far as samples look at it. */
interface SampledSchema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly anyOf?: readonly SampledSchema[];
  readonly oneOf?: readonly SampledSchema[];
  readonly allOf?: readonly SampledSchema[];
  readonly properties?: Readonly<Record<string, SampledSchema>>;
  readonly required?: readonly string[];
  readonly items?: SampledSchema;
  readonly minItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
}

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2030-01-01T00:00:00.000Z',
  date: '2030-01-01',
  uuid: '00000000-0000-7000-8000-000000000000',
  uri: 'https://example.com/',
  email: 'somebody@example.com',
};

/**
 * A value that fits the schema, with `marker` in every text that leaves room for it. Optional members are left out. Where a
 * pattern or a rule across members decides, the author gives a sample.
 */
export function sampleOf(schema: TSchema, marker: string): unknown {
  return sample(schema as SampledSchema, marker);
}

function sample(schema: SampledSchema, marker: string): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  const [choice] = schema.anyOf ?? schema.oneOf ?? [];
  if (choice !== undefined) return sample(choice, marker);
  if (schema.allOf !== undefined)
    return Object.assign({}, ...schema.allOf.map((part) => sample(part, marker)));
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0];
  switch (type) {
    case 'object': {
      const members = (schema.required ?? []).map((name) => [
        name,
        sample(schema.properties?.[name] ?? {}, marker),
      ]);
      return Object.fromEntries(members);
    }
    case 'array':
      return Array.from({ length: schema.minItems ?? 1 }, () => sample(schema.items ?? {}, marker));
    case 'integer':
    case 'number':
      return schema.minimum ?? (schema.exclusiveMinimum === undefined ? 1 : schema.exclusiveMinimum + 1);
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return text(schema, marker);
  }
}

function text(schema: SampledSchema, marker: string): unknown {
  const { pattern, format, minLength = 0, maxLength } = schema;
  const known = schema.examples?.[0] ?? schema.default;
  if (pattern !== undefined && !new RegExp(pattern).test(marker)) return known ?? marker;
  if (format !== undefined && FORMATS[format] !== undefined) return FORMATS[format];
  return marker.padEnd(minLength, 'x').slice(0, maxLength);
}

/** The path of a route with its parameters filled in; `marker` stands for those that nobody knows. */
export function sampleParams(
  route: CompiledRoute,
  known: Readonly<Record<string, string>>,
  marker: string,
): string {
  return route.pattern.replace(/\{(\w+)\*?\}/g, (_, name: string) =>
    encodeURIComponent(known[name] ?? marker),
  );
}
