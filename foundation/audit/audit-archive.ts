import type { Database } from '../data/database.ts';
import type { Leases } from '../leases/leases.ts';
import type { Objects } from '../objects/objects.ts';
import { AuditLog, type AuditLogRow } from '../tables/audit-log.ts';
import type { AuditEntry } from './audit-entry.ts';
import { entryOf } from './audit-query.ts';
import { type Pseudonymized, renamedRecord } from './audit-traces.ts';

/**
 * Old audit records, in the object storage: JSON lines, one record each as the audit routes show it, below
 * `_system/audit/<tenant>/<day>/`; `none` stands for the tenant of records that have none. A record may be there twice,
 * or also in the database, where a process has died between the two: readers recognize it by its id.
 */
export interface AuditArchive {
  /**
   * Moves records of whole days (UTC) that are older there, and returns how many; returns at once where another replica
   * moves records, or a name is being replaced. The rest is for the next call. Without object storage none are moved.
   *
   * @throws the reason of the signal, or of the lease, that aborts, and `objects.unavailable`
   */
  move(before: Date, signal: AbortSignal): Promise<number>;
  /** The archived records of a tenant, or of one identity of it, oldest first. */
  records(tenantId: string, userId: string | undefined): AsyncIterable<AuditEntry>;
  /**
   * Puts a pseudonym in the place of a name in archived records; returns how many it changed. Waits for a replica that
   * moves records at this moment.
   *
   * @throws the signal's reason when it aborts
   */
  rename(tenantId: string, whom: Pseudonymized, signal: AbortSignal): Promise<number>;
}

/** What the archive works with. */
export interface AuditArchiveParts {
  readonly database: Pick<Database, 'system'>;
  readonly objects: Pick<Objects, 'available' | 'all'>;
  readonly leases: Pick<Leases, 'acquire' | 'tryAcquire'>;
}

const ROOT = '_system/audit/';
const NO_TENANT = 'none';
const CONTENT_TYPE = 'application/x-ndjson';
/** Records of one object. */
const CHUNK = 2_000;
/** The largest object that is read back. A record has some kilobytes at most. */
const MAX_BYTES = 256 * 1024 * 1024;
/** Held by a replica that moves records, or that changes archived ones. */
const LEASE = 'audit-archive';
/** Milliseconds: longer than one chunk takes. */
const WAIT_MS = 60_000;

/** Makes the archive. */
export function createAuditArchive({ database, objects, leases }: AuditArchiveParts) {
  /**
   * The next tenant by id that has records, and the time of its oldest: one entry of the index, however many records
   * there are.
   */
  async function nextTenant(from: { $gte: string } | { $gt: string }): Promise<AuditLogRow | undefined> {
    const orderBy = { tenantId: 'asc', createdAt: 'asc', id: 'asc' } as const;
    const [row] = await database
      .system()
      .find(AuditLog, { tenantId: from }, { orderBy, limit: 1, disableIdentityMap: true });
    return row;
  }

  /** The oldest records of a tenant, all of one day. */
  async function oldest(tenantId: string, before: Date): Promise<readonly AuditLogRow[]> {
    const query = {
      orderBy: { createdAt: 'asc', id: 'asc' },
      limit: CHUNK,
      disableIdentityMap: true,
    } as const;
    const rows = await database.system().find(AuditLog, { tenantId, createdAt: { $lt: before } }, query);
    const day = rows[0] && dayOf(rows[0].createdAt);
    return rows.filter(({ createdAt }) => dayOf(createdAt) === day);
  }

  /**
   * Moves one chunk; how many records it had. First the object, then, in one statement, the rows: what dies in between
   * leaves both, and the next call writes the same object again, or one more.
   */
  async function moveChunk(tenantId: string, before: Date, signal: AbortSignal): Promise<number> {
    const rows = await oldest(tenantId, before);
    const [first] = rows;
    if (first === undefined) return 0;
    const key = `${folderOf(tenantId)}${dayOf(first.createdAt)}/${first.id}.jsonl`;
    const text = rows.map((row) => `${lineOf(entryOf(row))}\n`).join('');
    await objects.all().put(key, text, { contentType: CONTENT_TYPE, signal });
    // Without the lease another replica may replace a name that this object still has. The rows have it no more: the
    // next call writes it anew.
    signal.throwIfAborted();
    await database.system().nativeDelete(AuditLog, { id: { $in: rows.map(({ id }) => id) } });
    return rows.length;
  }

  /** The keys of a tenant's objects, oldest day first. */
  async function* keysOf(tenantId: string): AsyncGenerator<string> {
    if (!objects.available) return;
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page = await objects.all().list(folderOf(tenantId), after === '' ? {} : { after });
      for (const { key } of page.objects) yield key;
      after = page.next;
    }
  }

  const linesOf = async (key: string) =>
    ((await objects.all().text(key, MAX_BYTES)) ?? '').split('\n').filter((line) => line !== '');

  return {
    async move(end, signal) {
      if (!objects.available) return 0;
      const before = new Date(`${dayOf(end)}T00:00:00Z`);
      let moved = 0;
      let row = await nextTenant({ $gte: '' });
      for (; row !== undefined; row = await nextTenant({ $gt: row.tenantId })) {
        signal.throwIfAborted();
        if (row.createdAt >= before) continue;
        let count: number;
        do {
          signal.throwIfAborted();
          const lease = await leases.tryAcquire(LEASE, { strict: true });
          if (typeof lease === 'string') return moved;
          await using held = lease;
          count = await moveChunk(row.tenantId, before, AbortSignal.any([signal, held.signal]));
          moved += count;
        } while (count > 0);
      }
      return moved;
    },

    /** Leaves out the objects that were `read` before, and adds those that it reads. */
    async *records(tenantId, userId, read = new Set<string>()) {
      for await (const key of keysOf(tenantId)) {
        if (read.has(key)) continue;
        read.add(key);
        for (const line of await linesOf(key)) {
          const entry = entryOfLine(line);
          if (userId === undefined || entry.userId === userId) yield entry;
        }
      }
    },

    async rename(tenantId, whom, signal) {
      if (!objects.available) return 0;
      await using lease = await leases.acquire(LEASE, { strict: true, wait: WAIT_MS, signal });
      const alive = AbortSignal.any([signal, lease.signal]);
      let renamed = 0;
      for await (const key of keysOf(tenantId)) {
        alive.throwIfAborted();
        const before = await linesOf(key);
        const after = before.map((line) => renamedLine(line, whom));
        const changed = after.filter((line, index) => line !== before[index]).length;
        if (changed === 0) continue;
        const text = after.map((line) => `${line}\n`).join('');
        await objects.all().put(key, text, { contentType: CONTENT_TYPE, signal: alive });
        renamed += changed;
      }
      return renamed;
    },
  } satisfies AuditArchive;
}

const folderOf = (tenantId: string) => `${ROOT}${tenantId === '' ? NO_TENANT : tenantId}/`;

const dayOf = (time: Date) => time.toISOString().slice(0, 10);

/** The members of a record, each with its name in a line. */
const NAMES = {
  id: 'id',
  tenantId: 'tenant_id',
  userId: 'user_id',
  action: 'action',
  detail: 'detail',
  requestId: 'request_id',
  statusCode: 'status_code',
  latencyMs: 'latency_ms',
  createdAt: 'created_at',
  sessionId: 'session_id',
  sourceIp: 'source_ip',
  userAgent: 'user_agent',
  errorCode: 'error_code',
  authMethod: 'auth_method',
} as const satisfies Record<keyof AuditEntry, string>;
const MEMBERS = Object.entries(NAMES) as readonly [keyof AuditEntry, string][];

/** A record as a line, without its end. Pure. */
export function lineOf(entry: AuditEntry): string {
  return JSON.stringify(Object.fromEntries(MEMBERS.map(([member, name]) => [name, entry[member]])));
}

/** The record of a line. Pure. */
export function entryOfLine(line: string): AuditEntry {
  const is = JSON.parse(line);
  const entry = Object.fromEntries(MEMBERS.map(([member, name]) => [member, is[name]]));
  return { ...(entry as unknown as AuditEntry), createdAt: new Date(is.created_at) };
}

/** The line with a pseudonym in the place of a name; the same line where it does not name them. */
function renamedLine(line: string, whom: Pseudonymized): string {
  const entry = entryOfLine(line);
  if (whom.before !== undefined && entry.createdAt > whom.before) return line;
  const changes = renamedRecord({ ...entry, detail: { ...entry.detail } }, whom);
  if (changes === undefined) return line;
  const { actionKey: _, ...renamed } = changes;
  return lineOf({ ...entry, ...renamed });
}
