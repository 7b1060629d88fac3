import {
  type EntityMetadata,
  type EntityProperty,
  JsonType,
  type Platform,
  ReferenceKind,
  TextType,
} from '@mikro-orm/core';
import { isPlainValue, type PlainValue } from '../drivers/values.ts';

/** One property of a plain entity, and its column. */
export interface PlainColumn {
  readonly name: string;
  /** The column, quoted. */
  readonly sql: string;
  readonly isNullable: boolean;
  readonly isJson: boolean;
  /** Whether the database has it as text: not so a decimal, which entities have as one. */
  readonly isText: boolean;
  /** What MikroORM writes where a row leaves the property out. */
  readonly default: unknown;
  /** The value as it is stored; undefined for one that only MikroORM can store. */
  toDatabase(value: unknown): PlainValue | undefined;
  /** The value as an entity would have it; `stored` has gone through MikroORM's own mapping of results. */
  toEntity(stored: unknown): unknown;
}

/**
 * An entity whose rows are written and read without MikroORM's unit of work: one table, one column for each property.
 */
export interface PlainEntity {
  /** The table, quoted. */
  readonly table: string;
  readonly columns: ReadonlyMap<string, PlainColumn>;
  /** The columns of the primary key. */
  readonly keys: readonly PlainColumn[];
}

/** The plain form of an entity; undefined where MikroORM does more than write and read columns. */
export function plainEntity(meta: EntityMetadata, platform: Platform): PlainEntity | undefined {
  if (!isOneTable(meta) || !meta.props.every((property) => isOneColumn(property, platform))) return undefined;
  const columns = new Map(meta.props.map((property) => [property.name, plainColumn(property, platform)]));
  return {
    table: platform.quoteIdentifier(meta.tableName),
    columns,
    keys: meta.primaryKeys.map((name) => columns.get(name) as PlainColumn),
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
    isText: runtimeType === 'string' && (customType === undefined || customType instanceof TextType),
    default: property.default,
    toDatabase(value) {
      if (isJson ? !isPlainJson(value) : !isPlainValue(value)) return undefined;
      const stored =
        customType?.convertToDatabaseValue(value, platform, { key: name, mode: 'query-data' }) ?? value;
      return isPlainValue(stored) ? stored : undefined;
    },
    toEntity: (stored) => entityValue(property, stored, platform),
  };
}

/**
 * The value of a property as an entity would have it; null where there is none. `stored` has gone through MikroORM's
 * own mapping of results.
 */
export function entityValue(property: EntityProperty, stored: unknown, platform: Platform): unknown {
  const { customType, runtimeType } = property;
  if (stored === null || stored === undefined) return null;
  if (customType !== undefined) {
    return customType.convertToJSValue(stored, platform, { mode: 'serialization' });
  }
  return runtimeType === 'boolean' ? Boolean(stored) : stored;
}

/** JSON that is nested deeper goes the long way. */
const MAX_DEPTH = 32;

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
