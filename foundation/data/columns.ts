import { BlobType, type EntityProperty, type Platform, p, TextType } from '@mikro-orm/core';
import { BaseMySqlPlatform } from '@mikro-orm/sql';
import { type RawBuilder, sql } from 'kysely';

/** Digits after the second of every stored time: milliseconds. */
const MILLISECONDS = 3;
/** Length of an id or a tenant id: a UUID in its text form. */
export const ID_LENGTH = 36;

/** True for MySQL and MariaDB, whose `text` and `blob` end at 64 KiB. */
const isMySql = (platform: Platform) => platform instanceof BaseMySqlPlatform;

/** Text without a practical bound on every family. */
class UnboundedText extends TextType {
  override getColumnType(property: EntityProperty, platform: Platform): string {
    return isMySql(platform) ? 'longtext' : platform.getTextTypeDeclarationSQL(property);
  }
}

/** Bytes without a practical bound on every family. */
class UnboundedBlob extends BlobType {
  override getColumnType(_property: EntityProperty, platform: Platform): string {
    return isMySql(platform) ? 'longblob' : platform.getBlobDeclarationSQL();
  }
}

/**
 * The kinds of column for entities, to be used instead of MikroORM's `p`: each has its twin in `ColumnTypes`, so an
 * entity and its migration cannot say different things. Add `.primary()`, `.nullable()`, `.default(…)` as needed. What
 * is nullable is read as `null` where there is no value; its type allows `undefined` as well, which writers may leave.
 *
 * @example
 * const Note = defineEntity({ name: 'Note', tableName: 'notes', properties: {
 *   id: column.id().primary(), tenantId: column.tenant(), text: column.text(), createdAt: column.time(),
 * } });
 */
export const column = {
  /** A UUID, or any other id of at most 36 characters. */
  id: () => p.string().length(ID_LENGTH),
  /** The tenant that owns the row; the property must be called `tenantId`. */
  tenant: () => p.string().length(ID_LENGTH),
  /** Text of at most `length` characters, which SQLite does not check; compared byte by byte on every family. */
  string: (length: number) => p.string().length(length),
  /** Text without a bound. It cannot be indexed. */
  text: () => p.type(UnboundedText).$type<string>(),
  /** A JSON value; compared by value. */
  json: <T>() => p.json<T>(),
  /** A moment in UTC with milliseconds; a `Date` in the entity. */
  time: () => p.datetime(MILLISECONDS),
  boolean: () => p.boolean(),
  /** A whole number of 32 bits; SQLite takes larger ones and fractions. */
  integer: () => p.integer(),
  /** A whole number; a JavaScript number in the entity, exact up to 2^53. */
  bigint: () => p.bigint('number'),
  /** An exact decimal as a string; SQLite keeps 15 digits of it, and no trailing zeros. */
  decimal: (precision: number, scale: number) => p.decimal('string').precision(precision).scale(scale),
  double: () => p.double(),
  /** Bytes without a bound; a `Buffer` in the entity. */
  blob: () => p.type(UnboundedBlob).$type<Buffer>(),
};

type ColumnType = RawBuilder<unknown>;

/** The column types of one family for migrations, each the twin of the `column` of the same name. */
export interface ColumnTypes {
  readonly id: ColumnType;
  readonly tenant: ColumnType;
  string(length: number): ColumnType;
  readonly text: ColumnType;
  readonly json: ColumnType;
  readonly time: ColumnType;
  readonly boolean: ColumnType;
  readonly integer: ColumnType;
  readonly bigint: ColumnType;
  decimal(precision: number, scale: number): ColumnType;
  readonly double: ColumnType;
  readonly blob: ColumnType;
  /** Values for rows that a migration inserts, as this family stores them. */
  readonly value: {
    time(moment: Date): unknown;
    /** The time at which the migration runs. */
    readonly now: unknown;
    json(value: unknown): unknown;
    boolean(value: boolean): unknown;
  };
}

/** The column types of the family that `platform` speaks; `now` is the time at which they are asked for. */
export function columnTypes(platform: Platform, now: Date): ColumnTypes {
  const type = (declaration: string): ColumnType => sql.raw(declaration);
  const property = {} as EntityProperty;
  return {
    id: type(platform.getVarcharTypeDeclarationSQL({ length: ID_LENGTH })),
    tenant: type(platform.getVarcharTypeDeclarationSQL({ length: ID_LENGTH })),
    string: (length) => type(platform.getVarcharTypeDeclarationSQL({ length })),
    text: type(new UnboundedText().getColumnType(property, platform)),
    json: type(platform.getJsonDeclarationSQL()),
    time: type(platform.getDateTimeTypeDeclarationSQL({ length: MILLISECONDS })),
    boolean: type(platform.getBooleanTypeDeclarationSQL()),
    integer: type(platform.getIntegerTypeDeclarationSQL({})),
    bigint: type(platform.getBigIntTypeDeclarationSQL({})),
    decimal: (precision, scale) => type(platform.getDecimalTypeDeclarationSQL({ precision, scale })),
    double: type(platform.getDoubleDeclarationSQL()),
    blob: type(new UnboundedBlob().getColumnType(property, platform)),
    value: {
      // quoteValue gives the literal that MikroORM itself would write into the column.
      time: (moment) => sql.raw(platform.quoteValue(moment)),
      now: sql.raw(platform.quoteValue(now)),
      json: (value) => JSON.stringify(value),
      boolean: (value) => sql.raw(platform.quoteValue(value)),
    },
  };
}
