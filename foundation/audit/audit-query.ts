import type { FieldError } from '../base/gateway-error.ts';
import type { Page } from '../base/page.ts';
import type { UnreadBody } from '../base/refusing.ts';
import type { Database, PlainWhere } from '../data/database.ts';
import { AuditLog, type AuditLogRow, ofAction } from '../tables/audit-log.ts';
import type { AuditEntry } from './audit-entry.ts';

/** Size of a page of audit records where none is asked for (specification 1, Limits). */
export const AUDIT_DEFAULT_LIMIT = 50;
/** Largest page of audit records (decisions 1.4). */
export const AUDIT_MAX_LIMIT = 500;

/** Which audit records are asked for; an absent member asks for all. */
export interface AuditFilter {
  /** The whole action, exactly. */
  readonly action?: string | undefined;
  /** From this moment on. */
  readonly from?: Date | undefined;
  /** Up to this moment, which belongs to it. */
  readonly to?: Date | undefined;
  /** Text in the action, or an id: of the user, request or session, or the error's code. */
  readonly q?: string | undefined;
}

/** What of a record `q` looks into. */
const AUDIT_SEARCHED = ['action', 'userId', 'requestId', 'sessionId', 'errorCode'] as const;

/** A page of audit records and how many there are in all. */
export interface AuditPage {
  readonly records: readonly AuditEntry[];
  readonly total: number;
}

/** Reads the audit records that have reached the database, newest first. */
export interface AuditQuery {
  /** Records of one tenant. */
  ofTenant(tenantId: string, filter: AuditFilter, page: Page): Promise<AuditPage>;
  /** Records of all tenants; for callers whose governance scope has been checked. */
  ofAll(filter: AuditFilter, page: Page): Promise<AuditPage>;
}

/** The audit query over the database. A page never holds more than `AUDIT_MAX_LIMIT` records. */
export function createAuditQuery(database: Pick<Database, 'forTenant' | 'pageOfAll'>): AuditQuery {
  return {
    async ofTenant(tenantId, filter, page) {
      return pageOf(
        await database.forTenant(tenantId).page(AuditLog, conditions(filter), query(filter, page)),
      );
    },
    async ofAll(filter, page) {
      return pageOf(await database.pageOfAll(AuditLog, conditions(filter), query(filter, page)));
    },
  };
}

/**
 * The moment that a `from` or `to` of a query names: RFC 3339, or a date, which as `to` means its last millisecond
 * (UTC). `undefined` for anything else.
 */
export function parseAuditTime(text: string, bound: 'from' | 'to'): Date | undefined {
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text);
  if (!isDate && !RFC_3339.test(text)) return undefined;
  const day = text.slice(0, 10);
  // Date.parse takes 2026-02-30 for the second of March.
  if (new Date(`${day}T00:00:00Z`).toJSON()?.slice(0, 10) !== day) return undefined;
  const moment = new Date(isDate ? `${day}T${bound === 'from' ? '00:00:00.000' : '23:59:59.999'}Z` : text);
  return Number.isNaN(moment.getTime()) ? undefined : withinCalendars(moment);
}

/** The moment at an end of the period in a query; undefined where there is none. */
export function periodEnd(query: UnreadBody, bound: 'from' | 'to'): Date | undefined {
  const text = query[bound];
  // The `+` of an offset that the client did not percent-encode arrives as a blank.
  return typeof text === 'string' ? parseAuditTime(text.replace(/ (?=\d{2}:\d{2}$)/, '+'), bound) : undefined;
}

/** What no schema says of the period in a query: which of its ends are no moments. */
export function periodProblems(query: UnreadBody): readonly FieldError[] {
  return (['from', 'to'] as const)
    .filter((bound) => typeof query[bound] === 'string' && periodEnd(query, bound) === undefined)
    .map((bound) => ({ pointer: `/query/${bound}`, message: 'must be an RFC 3339 timestamp or a date' }));
}

/** Years that every database can write: nothing was recorded before the first, nor will be after the last. */
const FIRST = Date.UTC(1970, 0, 1);
const LAST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

function withinCalendars(moment: Date): Date {
  return new Date(Math.min(LAST, Math.max(FIRST, moment.getTime())));
}

const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

function conditions({ action, from, to }: AuditFilter): PlainWhere<AuditLogRow> {
  return {
    ...(action === undefined ? {} : ofAction(action)),
    ...(from === undefined && to === undefined
      ? {}
      : { createdAt: { ...(from && { $gte: from }), ...(to && { $lte: to }) } }),
  };
}

function query({ q }: AuditFilter, { limit, offset }: Page) {
  const orderBy = { createdAt: 'desc', id: 'desc' } as const;
  const search = q === undefined ? undefined : { text: q, in: AUDIT_SEARCHED };
  return { orderBy, limit: Math.min(limit, AUDIT_MAX_LIMIT), offset, search };
}

function pageOf([rows, total]: readonly [readonly AuditLogRow[], number]): AuditPage {
  return { records: rows.map(entryOf), total };
}

/** The record of a row. */
export function entryOf(row: AuditLogRow): AuditEntry {
  return {
    id: row.id,
    tenantId: row.tenantId,
    userId: row.userId,
    action: row.action,
    detail: row.detail,
    requestId: row.requestId,
    statusCode: row.statusCode,
    latencyMs: row.latencyMs,
    createdAt: row.createdAt,
    sessionId: row.sessionId ?? undefined,
    sourceIp: row.sourceIp ?? undefined,
    userAgent: row.userAgent ?? undefined,
    errorCode: row.errorCode ?? undefined,
    authMethod: row.authMethod ?? undefined,
  };
}
