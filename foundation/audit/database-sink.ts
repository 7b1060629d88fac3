import { CompiledQuery } from 'kysely';
import { storableText } from '../base/storable-text.ts';
import type { Database } from '../data/database.ts';
import type { Family } from '../data/family.ts';
import { actionKey, MAX_ACTION_LENGTH } from '../tables/audit-log.ts';
import type { AuditDetail, AuditEntry } from './audit-entry.ts';

/** Where audit records end up. */
export interface AuditSink {
  /**
   * Stores all entries or rejects; an entry that is stored already is left as it is. The same entries may come again,
   * also in other company, after a rejection or a restart.
   */
  write(entries: readonly AuditEntry[]): Promise<void>;
}

/**
 * The table `audit_logs` as the sink of the audit trail: one statement per batch, rows that exist stay as they are.
 * Every request ends here, so the statement is made once and not by MikroORM, which takes 7 µs for a row.
 */
export function createDatabaseSink(database: Pick<Database, 'system' | 'family'>): AuditSink {
  const { family } = database;
  const statementOf = createStatements(family);
  return {
    async write(entries) {
      const values = entries.flatMap((entry) => rowOf(entry, family));
      await database
        .system()
        .getKysely()
        .executeQuery(CompiledQuery.raw(statementOf(entries.length), values));
    },
  };
}

const COLUMNS = [
  'id',
  'tenant_id',
  'user_id',
  'action',
  'action_key',
  'detail',
  'request_id',
  'status_code',
  'latency_ms',
  'created_at',
  'session_id',
  'source_ip',
  'user_agent',
  'error_code',
  'auth_method',
] as const;

/** MySQL's `insert ignore` would not only pass over duplicates but turn bad values into others. */
const ON_DUPLICATE: Readonly<Record<Family, string>> = {
  sqlite: 'on conflict (id) do nothing',
  postgres: 'on conflict (id) do nothing',
  mysql: 'on duplicate key update id = id',
};

/** The statement for so many rows. Under load batches are full, so the last one is usually the right one. */
function createStatements(family: Family): (rows: number) => string {
  let count = 0;
  let statement = '';
  return (rows) => {
    if (rows === count) return statement;
    const tuples = Array.from({ length: rows }, (_, row) => `(${placeholders(family, row)})`);
    count = rows;
    statement = `insert into audit_logs (${COLUMNS.join(', ')}) values ${tuples.join(', ')} ${ON_DUPLICATE[family]}`;
    return statement;
  };
}

function placeholders(family: Family, row: number): string {
  return COLUMNS.map((_, column) =>
    family === 'postgres' ? `$${row * COLUMNS.length + column + 1}` : '?',
  ).join(', ');
}

/** The values of an entry. What is longer than its column is cut: a long header must not keep a record out. */
function rowOf(entry: AuditEntry, family: Family): readonly unknown[] {
  const action = storableText(entry.action, MAX_ACTION_LENGTH);
  return [
    entry.id,
    storableText(entry.tenantId, 36),
    storableText(entry.userId, 255),
    action,
    actionKey(action),
    storableJson(entry.detail),
    storableText(entry.requestId, 255),
    entry.statusCode,
    entry.latencyMs,
    // As MikroORM stores it: SQLite has no type for times.
    family === 'sqlite' ? entry.createdAt.getTime() : entry.createdAt,
    optional(entry.sessionId, 128),
    optional(entry.sourceIp, 64),
    optional(entry.userAgent, 512),
    optional(entry.errorCode, 128),
    optional(entry.authMethod, 32),
  ];
}

const optional = (value: string | undefined, length: number) =>
  value === undefined ? null : storableText(value, length);

/** JSON escapes of what PostgreSQL refuses; JSON.stringify escapes a surrogate only where its other half is missing. */
const REFUSED_ESCAPE = /(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g;

function storableJson(detail: AuditDetail): string {
  return JSON.stringify(detail).replace(REFUSED_ESCAPE, '$1\\ufffd');
}
