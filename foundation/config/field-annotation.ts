import type { TSchema } from 'typebox';

/** The kinds of value that a setting can have. */
export type FieldKind =
  | 'string'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'choice'
  | 'duration'
  | 'size'
  | 'list'
  | 'folders'
  | 'address'
  | 'url'
  | 'mapping';

/** What a field's schema says beside JSON Schema: plain data under `x-field`, from which everything else is derived. */
export interface FieldAnnotation {
  readonly kind: FieldKind;
  readonly description: string;
  readonly env?: string;
  readonly secret?: true;
  /** The default in the form of the file. */
  readonly default?: unknown;
  readonly unset?: string;
  /** Decoded: milliseconds, bytes, characters. */
  readonly min?: number;
  readonly max?: number;
  readonly choices?: readonly string[];
  readonly protocols?: readonly string[];
}

/** What a schema states as a field; undefined when it is none (a group). */
export function annotationOf(schema: TSchema): FieldAnnotation | undefined {
  return (schema as { 'x-field'?: FieldAnnotation })['x-field'];
}

/** The fields and groups of a configuration schema by name. Throws a TypeError for a schema that is not made of fields. */
export function membersOf(schema: TSchema): [string, TSchema][] {
  const { type, properties } = schema as { type?: unknown; properties?: Record<string, TSchema> };
  if (type !== 'object' || properties === undefined) {
    throw new TypeError(
      'A configuration schema is a Type.Object of fields (field.*) and groups (Type.Object)',
    );
  }
  return Object.entries(properties);
}
