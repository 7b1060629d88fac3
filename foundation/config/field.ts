import type { TSchema, TUnsafe } from 'typebox';
import type { OfferName } from '../base/offers.ts';
import { Type } from '../base/type.ts';
import { decodeValue, type FieldAnnotation, type FieldKind } from './field-codec.ts';
import { type Address, parseDuration, parseSize } from './units.ts';

/** What every field may state. */
interface FieldOptions<D> {
  /** What it means to an operator: one sentence without a full stop, for the table and the editor. */
  readonly description: string;
  /** The variable that sets it; it wins over the file. */
  readonly env?: string;
  /** Written as in the file (`'30s'`). Without one the value may be `undefined`. */
  readonly default?: D;
  /**
   * The value appears in no output: it is taken out of the log, and of what operators see of the plugin's failures (its
   * state, its jobs, readiness), also where the plugin itself says it. One of fewer than 8 characters is found only
   * where it looks like a credential.
   */
  readonly secret?: true;
  /** What happens without a value, for the table's default column; only where there is no `default`. */
  readonly unset?: string;
}

/** Options of a field that bounds its value; both bounds are allowed values, written as in the file. */
interface BoundedOptions<D> extends FieldOptions<D> {
  readonly min?: D;
  readonly max?: D;
}

/** Options of a text: the bounds count characters. */
interface StringOptions extends FieldOptions<string> {
  readonly min?: number;
  readonly max?: number;
}

/** Options of a choice. */
interface ChoiceOptions<V extends string> extends FieldOptions<V | OfferName> {
  /** Also the name of something that a plugin offers, `plugin/<plugin>/<name>`. */
  readonly offers?: true;
}

/** Options of a URL. */
interface UrlOptions extends FieldOptions<string> {
  /** Allowed schemes without the colon (`['https', 'http']`); any when absent. */
  readonly protocols?: readonly string[];
}

/** The schema of a field: its static type is the decoded value, `undefined` included when it has no default. */
// biome-ignore lint/complexity/noBannedTypes: `{}` is "not null and not undefined" here
type Field<T, O> = TUnsafe<O extends { default: {} } ? T : T | undefined>;

/**
 * Constructors of configuration fields. A configuration is a `Type.Object` of them (groups may nest); its static type
 * is the decoded value. They throw a TypeError for a declaration that contradicts itself.
 *
 * @example
 * const WorkflowConfig = Type.Object({
 *   max_steps: field.integer({ env: 'MAX_STEPS', default: 1000, min: 1, description: 'Steps of one run at most' }),
 *   task_timeout: field.duration({ default: '5m', description: 'Time that a service task may take' }),
 * });
 */
export const field = {
  string: <const O extends StringOptions>(options: O) => define<string, O>('string', options),
  integer: <const O extends BoundedOptions<number>>(options: O) => define<number, O>('integer', options),
  number: <const O extends BoundedOptions<number>>(options: O) => define<number, O>('number', options),
  /** In variables also `1`, `yes`, `on` and their opposites. */
  boolean: <const O extends FieldOptions<boolean>>(options: O) => define<boolean, O>('boolean', options),
  /** One of the given words; with `offers` also what a plugin offers. */
  choice: <const V extends readonly string[], const O extends ChoiceOptions<V[number]>>(
    choices: V,
    options: O,
  ) =>
    define<V[number] | (O extends { offers: true } ? OfferName : never), O>('choice', options, { choices }),
  /** Milliseconds. Written `30s`, `5m`, `1h30m`, `720h`, `7d`, `250ms`; a bare number is seconds. */
  duration: <const O extends BoundedOptions<string>>(options: O) =>
    define<number, O>('duration', options, bounds(options, parseDuration)),
  /** Bytes. Written `64KiB`, `10MB` (1,048,576 bytes each), or a bare number of bytes. */
  size: <const O extends BoundedOptions<string>>(options: O) =>
    define<number, O>('size', options, bounds(options, parseSize)),
  /** Comma-separated, or a YAML list. */
  list: <const O extends FieldOptions<readonly string[]>>(options: O) =>
    define<readonly string[], O>('list', options),
  /** Separated by colons, or a YAML list. */
  folders: <const O extends FieldOptions<readonly string[]>>(options: O) =>
    define<readonly string[], O>('folders', options),
  /** Where to listen: `host:port`, `[v6]:port`, `:port`. */
  address: <const O extends FieldOptions<string>>(options: O) => define<Address, O>('address', options),
  /** An absolute URL, kept as it was written. */
  url: <const O extends UrlOptions>(options: O) => define<string, O>('url', options),
  /** Names and values that the reader of the setting checks; it has no variable. */
  mapping: <const O extends FieldOptions<Record<string, unknown>> & { env?: never }>(options: O) =>
    define<Readonly<Record<string, unknown>>, O>('mapping', options),
} as const;

const VARIABLE = /^[A-Z][A-Z0-9_]*$/;

function define<T, O extends object>(
  kind: FieldKind,
  options: O,
  more: Partial<FieldAnnotation> = {},
): Field<T, O> {
  const annotation = { kind, ...options, ...more } as unknown as FieldAnnotation;
  const { env, secret } = annotation;
  if (env !== undefined && !VARIABLE.test(env)) throw new TypeError(`${env} is not the name of a variable`);
  if (annotation.default !== undefined) {
    if (secret) throw new TypeError('A secret has no default');
    const decoded = decodeValue(annotation.default, annotation);
    if ('problem' in decoded) throw new TypeError(`The default of ${env ?? 'a field'}: ${decoded.problem}`);
  }
  return Type.Unsafe({ 'x-field': annotation }) as unknown as Field<T, O>;
}

function bounds(
  options: BoundedOptions<string>,
  parse: (text: string) => number | undefined,
): Partial<FieldAnnotation> {
  const bound = (text: string | undefined) => {
    if (text === undefined) return undefined;
    const value = parse(text);
    if (value === undefined) throw new TypeError(`"${text}" is no bound of ${options.env ?? 'a field'}`);
    return value;
  };
  return { min: bound(options.min), max: bound(options.max) };
}

/** What a schema states as a field; undefined when it is none (a group). */
export function annotationOf(schema: TSchema): FieldAnnotation | undefined {
  return (schema as { 'x-field'?: FieldAnnotation })['x-field'];
}

/**
 * The fields and groups of a configuration schema by name. Throws a TypeError for a schema that is not made of fields.
 */
export function membersOf(schema: TSchema): [string, TSchema][] {
  if (!isGroup(schema)) {
    throw new TypeError(
      'A configuration schema is a Type.Object of fields (field.*) and groups (Type.Object)',
    );
  }
  const members = Object.entries((schema as { properties: Record<string, TSchema> }).properties);
  const stray = members.find(([, member]) => annotationOf(member) === undefined && !isGroup(member));
  if (stray !== undefined) {
    throw new TypeError(
      `The setting "${stray[0]}" of a configuration schema is neither a field (field.*) nor a group of fields (Type.Object)`,
    );
  }
  return members;
}

function isGroup(schema: TSchema): boolean {
  const { type, properties } = schema as { type?: unknown; properties?: unknown };
  return type === 'object' && properties !== undefined;
}
