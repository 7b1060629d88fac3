import type { RequiredEntityData } from '@mikro-orm/core';
import { type Database, isUniqueViolation } from '../database/database.ts';
import { AuditLog, type AuditLogRow, actionKey, MAX_ACTION_LENGTH } from '../database/entities/audit-log.ts';
import type { AuditDetail, AuditEntry } from './audit-entry.ts';
import type { AuditSink } from './audit-sink.ts';

/** The table `audit_logs` as the sink of the audit trail: one statement per batch, rows that exist stay as they are. */
export function createDatabaseSink(database: Pick<Database, 'system' | 'family'>): AuditSink {
  return {
    async write(entries) {
      const rows = entries.map(rowOf);
      try {
        await database.system().insertMany(AuditLog, rows);
      } catch (error) {
        if (!isUniqueViolation(error)) throw error;
        await insertMissing(database, rows);
      }
    },
  };
}

/** For the batches that a restart brings again; MikroORM takes twice as long for this statement. */
async function insertMissing(database: Pick<Database, 'system' | 'family'>, rows: Row[]): Promise<void> {
  const insert = database.system().createQueryBuilder(AuditLog).insert(rows).onConflict('id');
  // MySQL's `insert ignore` would not only pass over duplicates but turn bad values into others.
  await (database.family === 'mysql' ? insert.merge(['id']) : insert.ignore()).execute();
}

type Row = RequiredEntityData<AuditLogRow>;

/** The row of an entry. What is longer than its column is cut: a long header must not keep a record out. */
function rowOf(entry: AuditEntry): Row {
  const action = text(entry.action, MAX_ACTION_LENGTH);
  return {
    id: entry.id,
    tenantId: text(entry.tenantId, 36),
    userId: text(entry.userId, 255),
    action,
    actionKey: actionKey(action),
    detail: storable(entry.detail),
    requestId: text(entry.requestId, 255),
    statusCode: entry.statusCode,
    latencyMs: entry.latencyMs,
    createdAt: entry.createdAt,
    sessionId: optional(entry.sessionId, 128),
    sourceIp: optional(entry.sourceIp, 64),
    userAgent: optional(entry.userAgent, 512),
    errorCode: optional(entry.errorCode, 128),
    authMethod: optional(entry.authMethod, 32),
  };
}

const optional = (value: string | undefined, length: number) =>
  value === undefined ? null : text(value, length);

/** PostgreSQL takes neither NUL nor half a surrogate pair. */
function text(value: string, length: number): string {
  return value.slice(0, length).replaceAll('\0', '\ufffd').toWellFormed();
}

/** JSON escapes of what PostgreSQL refuses; JSON.stringify escapes a surrogate only where its other half is missing. */
const REFUSED_ESCAPE = /(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g;

function storable(detail: AuditDetail): Record<string, unknown> {
  const json = JSON.stringify(detail);
  const clean = json.replace(REFUSED_ESCAPE, '$1\\ufffd');
  return clean === json ? { ...detail } : (JSON.parse(clean) as Record<string, unknown>);
}
