import { UniqueConstraintViolationException } from '@mikro-orm/core';
import { defineErrors } from '../base/gateway-error.ts';

/**
 * What callers may learn about the database. Everything else is a defect or the operator's business, and stays inside.
 */
export const DatabaseErrors = defineErrors({
  /**
   * Carries `retry-after`: a server that was restarted is back by then, and the gateway tries a new connection with
   * each request.
   */
  unavailable: {
    code: 'database.unavailable',
    kind: 'unavailable',
    title: 'The database does not answer',
    retryAfter: 5,
  },
  invalidValue: {
    code: 'database.invalid-value',
    kind: 'invalid',
    title: 'A value cannot be stored: it is too long, or holds U+0000 or half a surrogate pair',
  },
  notFound: { code: 'database.not-found', kind: 'not-found', title: 'There is no such record' },
});

/** The rules that code can break while it uses the database. */
export type DatabaseRule =
  | 'foreign-tenant'
  | 'foreign-work'
  | 'not-registered'
  | 'not-tenant-owned'
  | 'plain-rows'
  | 'raw-sql'
  | 'read-only'
  | 'registration'
  | 'second-connection'
  | 'unbounded'
  | 'unique-key'
  | 'unknown-property';

/**
 * Code broke a rule of the database: a defect, never a caller's mistake. It is no `GatewayError`, so that its text (for
 * developers) is logged and never sent.
 */
export class DatabaseDefect extends Error {
  override readonly name = 'DatabaseDefect';
  readonly rule: DatabaseRule;

  constructor(rule: DatabaseRule, message: string) {
    super(message);
    this.rule = rule;
  }
}

/** Throws for a row that is of another tenant. */
export function refuseForeign(entity: string): never {
  throw new DatabaseDefect(
    'foreign-tenant',
    `This ${entity} is not of the tenant to which the entity manager is bound`,
  );
}

/** The database cannot be opened or migrated. The message says what the operator can do and holds no password. */
export class DatabaseStartError extends Error {
  override readonly name = 'DatabaseStartError';
}

/**
 * True when the database did not answer: it is not known whether it did what was asked of it. After any other failure
 * of a transaction it is not done.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  return DatabaseErrors.unavailable.is(error);
}

/** True for a value that no column takes: most often a caller's. */
export function isInvalidValue(error: unknown): boolean {
  return DatabaseErrors.invalidValue.is(error);
}

/**
 * True when a write failed because a unique key (or primary key) is taken. The same on all three families. Inside a
 * transaction it is caught around that, or around a savepoint: PostgreSQL does nothing more in a transaction of which a
 * statement has failed.
 */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof UniqueConstraintViolationException;
}
