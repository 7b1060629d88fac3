import {
  BigIntType,
  BlobType,
  BooleanType,
  DateTimeType,
  DecimalType,
  DoubleType,
  type EntityProperty,
  FloatType,
  IntegerType,
  JsonType,
  ReferenceKind,
} from '@mikro-orm/core';
import { type AnyEntitySchema, TENANT_PROPERTY } from '../../foundation/data/tenancy.ts';

type Kind = abstract new (...options: never[]) => unknown;

/** What each kind of column holds; every other one holds text. */
const VALUES: readonly (readonly [readonly Kind[], () => unknown])[] = [
  [[IntegerType, BigIntType, DoubleType, FloatType], () => 1],
  [[DecimalType], () => '1'],
  [[BooleanType], () => true],
  [[DateTimeType], () => new Date()],
  [[JsonType], () => ({})],
  [[BlobType], () => Buffer.of(1)],
];

/**
 * Values for a row of a table, but for its tenant. `word`, which is of digits alone and so valid JSON too, is in each
 * of its texts, or the end of it where there is no room for more. Two rows of one table have words that end
 * differently.
 */
// biome-ignore lint/suspicious/noExplicitAny: rows of all entities are made here
export function sampleRow({ meta }: AnyEntitySchema, word: string): any {
  const properties: [string, Partial<EntityProperty>][] = Object.entries(meta.properties);
  const members = properties
    .filter(([name, { kind = ReferenceKind.SCALAR, persist }]) => {
      return name !== TENANT_PROPERTY && kind === ReferenceKind.SCALAR && persist !== false;
    })
    .map(([name, property]) => [name, sampleValue(property, word)]);
  return Object.fromEntries(members);
}

function sampleValue({ type, length }: Partial<EntityProperty>, word: string): unknown {
  for (const [kinds, make] of VALUES) if (kinds.some((kind) => isKind(type, kind))) return make();
  return length === undefined ? word : word.slice(-length);
}

/** Columns are declared with a class of MikroORM's, or with an object of one. */
function isKind(type: unknown, kind: Kind): boolean {
  if (type instanceof kind) return true;
  return typeof type === 'function' && (type === kind || type.prototype instanceof kind);
}
