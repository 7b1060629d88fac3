import {
  type EntityMetadata,
  type EntityProperty,
  JsonType,
  type Platform,
  ReferenceKind,
} from '@mikro-orm/core';

/** One property of a plain entity, and its column. */
export interface PlainColumn {
  readonly name: string;
  /** The column, quoted. */
  readonly sql: string;
  readonly isNullable: boolean;
  readonly isJson: boolean;
  /** What MikroORM writes where a row leaves the property out. */
  readonly default: unknown;
  /** The value as it is stored; undefined for one that only MikroORM can store. */
  toDatabase(value: unknown): PlainValue | undefined;
  /** The value, not null, as an entity would have it; `stored` has gone through MikroORM's own mapping of results. */
  toEntity(stored: unknown): unknown;
}

/** An entity whose rows are written and read without MikroORM's unit of work: one table, one column for each property. */
export interface PlainEntity {
  /** The table, quoted. */
  readonly table: string;
  readonly columns: ReadonlyMap<string, PlainColumn>;
}

/** The plain form of an entity; undefined where MikroORM does more than write and read columns. */
export function plainEntity(meta: EntityMetadata, platform: Platform): PlainEntity | undefined {
  if (!isOneTable(meta) || !meta.props.every((property) => isOneColumn(property, platform))) return undefined;
  return {
    table: platform.quoteIdentifier(meta.tableName),
    columns: new Map(meta.props.map((property) => [property.name, plainColumn(property, platform)])),
  };
}

/** No relations, heirs, views, versions, or filters of its own (the tenant's is not the entity's). */
function isOneTable(meta: EntityMetadata): boolean {
  const more =
    meta.embeddable || meta.virtual || meta.view || meta.expression || meta.schema || meta.versionProperty;
  const isHeir = meta.inheritanceType !== undefined || meta.discriminatorColumn !== undefined;
  const filters = Object.keys(meta.filters ?? {}).length;
  return !more && !isHeir && meta.relations.length + meta.concurrencyCheckKeys.size + filters === 0;
}

function isOneColumn(property: EntityProperty, platform: Platform): boolean {
  const { customType } = property;
  const more =
    property.persist === false ||
    property.formula ||
    property.generated ||
    property.lazy ||
    property.ref ||
    property.onCreate ||
    property.onUpdate ||
    property.getter ||
    property.hydrate === false;
  if (more || property.kind !== ReferenceKind.SCALAR || property.fieldNames?.length !== 1) return false;
  // A type may wrap its column into SQL of its own.
  const written = customType?.convertToDatabaseValueSQL?.('?', platform) ?? '?';
  const read = customType?.convertToJSValueSQL?.('?', platform) ?? '?';
  return written === '?' && read === '?';
}

function plainColumn(property: EntityProperty, platform: Platform): PlainColumn {
  const { name, customType, runtimeType } = property;
  const isJson = customType instanceof JsonType;
  return {
    name,
    sql: platform.quoteIdentifier(property.fieldNames[0] as string),
    isNullable: property.nullable === true,
    isJson,
    default: property.default,
    toDatabase(value) {
      if (isJson ? !isPlainJson(value) : !isPlainValue(value)) return undefined;
      const stored =
        customType?.convertToDatabaseValue(value, platform, { key: name, mode: 'query-data' }) ?? value;
      return isPlainValue(stored) ? stored : undefined;
    },
    toEntity(stored) {
      if (customType !== undefined) {
        return customType.convertToJSValue(stored, platform, { mode: 'serialization' });
      }
      return runtimeType === 'boolean' ? Boolean(stored) : stored;
    },
  };
}

const MAX_INT64 = 2n ** 63n - 1n;
const MIN_INT64 = -(2n ** 63n);
/** JSON that is nested deeper goes the long way. */
const MAX_DEPTH = 32;

/** A value of which every family has a literal, and SQLite a binding, that mean the same. */
export type PlainValue = string | number | bigint | boolean | Date | Buffer | null;

/** True for a value that a statement can hold without further thought: no SQL, no NaN, no invalid date, no object of a class. */
export function isPlainValue(value: unknown): value is PlainValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value);
    case 'bigint':
      return value >= MIN_INT64 && value <= MAX_INT64;
    case 'object':
      if (value instanceof Date) return !Number.isNaN(value.getTime());
      return value === null || Buffer.isBuffer(value);
    default:
      return false;
  }
}

/** True for what JSON can say exactly. MikroORM turns an `undefined` inside into null, and entities into their keys. */
export function isPlainJson(value: unknown, depth = 0): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.every((element) => isPlainJson(element, depth + 1));
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).every((element) => isPlainJson(element, depth + 1));
}

/** A value as better-sqlite3 binds it, so that SQLite stores what it would store for MikroORM's literal. */
export function sqliteBinding(value: PlainValue): string | number | bigint | Buffer | null {
  // A bound number is a floating point number, which a column of text would keep as "5.0".
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (value instanceof Date) return BigInt(value.getTime());
  return value;
}
