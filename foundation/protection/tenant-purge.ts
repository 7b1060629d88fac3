import type { AuditLogs } from '../audit/audit-logs.ts';
import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Database } from '../data/database.ts';
import type { DurableEventsHost } from '../messages/durable-events/durable-events.ts';
import type { Objects } from '../objects/objects.ts';
import type { Logger } from '../observability/logger.ts';
import { AuditLog, actionKey } from '../tables/audit-log.ts';
import { tellLifecycle } from '../tables/tell-lifecycle.ts';
import { Tenant } from '../tables/tenant.ts';

/** The action under which purges are found in the audit log (decisions 1.1). */
export const TENANT_PURGED = 'tenant.purged';

/** What the caller gives to a purge. */
export interface PurgeRun {
  /** Ends what is under way for a tenant; what it throws is logged, and no reason to leave the tenant's data. */
  halt(tenantId: string, signal: AbortSignal): Promise<void>;
  /** Removes what is kept of a tenant elsewhere; what it throws keeps the tenant from being marked as purged. */
  removeElsewhere(tenantId: string, signal: AbortSignal): Promise<void>;
  readonly signal: AbortSignal;
}

/** Removes what is left of deleted tenants whose time is over (decisions 1.1). */
export interface TenantPurge {
  /**
   * Purges all tenants that are due, one after the other. Two replicas that do so at one time only work twice. What a
   * crash or an abort leaves undone, the next run does. A tenant that fails is logged, and tried again by the next run.
   */
  run(run: PurgeRun): Promise<void>;
}

/** What the purge works with. */
export interface TenantPurgeParts {
  readonly database: Pick<Database, 'system' | 'transaction' | 'tenantTables' | 'now'>;
  readonly objects: Pick<Objects, 'available' | 'all'>;
  readonly audit: Pick<AuditLogs, 'renameInDetails'>;
  readonly durableEvents: Pick<DurableEventsHost, 'publishOf'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
}

/** A tenant whose time is over. */
interface DueTenant {
  readonly id: string;
  readonly purgedAt: Date | null;
}

/** What was removed. */
interface Removed {
  readonly rows: number;
  readonly objects: number;
  readonly bytes: number;
}

/** Tenants that are asked for at one time. */
const PAGE = 100;
/**
 * How long a purged tenant is looked at again: what was under way for it may have written something, and has ended by
 * then.
 */
const LOOKED_AT_AGAIN_MS = 48 * 3_600_000;
/** Looks at all tables in one purge, while work that ends goes on writing. */
const MAX_LOOKS = 5;
/** Audit records stay, and keys go last: until then their use is recorded as that of the tenant. */
const AUDIT_TABLE = 'audit_logs';
const KEY_TABLE = 'api_keys';
/** What stands in the place of the name of a purged tenant. */
const PURGED_NAME = 'Purged tenant';

/** Makes the purge. Its steps can all be done again, so that the next run goes on after a crash of any process. */
export function createTenantPurge(parts: TenantPurgeParts): TenantPurge {
  const { database, objects, audit, durableEvents, clock, ids, log } = parts;

  /** Those that are due after `after`, with those that were purged a short while ago. */
  async function dueAfter(after: string): Promise<readonly DueTenant[]> {
    // The earlier one of two clocks: what a replica whose clock is ahead purges is lost.
    const now = Math.min(clock.now(), await database.now());
    const isOpen = { $or: [{ purgedAt: null }, { purgedAt: { $gt: new Date(now - LOOKED_AT_AGAIN_MS) } }] };
    const where = { id: { $gt: after }, deletedAt: { $ne: null }, purgeAfter: { $lte: new Date(now) } };
    const query = { orderBy: { id: 'asc' }, limit: PAGE, fields: ['id', 'purgedAt'] } as const;
    return database.system().find(Tenant, { ...where, ...isOpen }, { ...query, disableIdentityMap: true });
  }

  /**
   * From here on the tenant cannot be restored, whatever the clocks of replicas say. False where it was restored
   * before.
   */
  async function begin(id: string): Promise<boolean> {
    const deleted = { id, deletedAt: { $ne: null } };
    const now = new Date(clock.now());
    const system = database.system();
    await system.nativeUpdate(Tenant, { ...deleted, purgeStartedAt: null }, { purgeStartedAt: now });
    return (await system.count(Tenant, { ...deleted, purgeStartedAt: { $ne: null } })) > 0;
  }

  /**
   * Rows of all tables but those of audit records and keys, until a look finds none. A look is one statement: those
   * that were purged a short while ago are looked at by each run.
   */
  async function purgeRows(id: string, signal: AbortSignal): Promise<number> {
    let purged = 0;
    for (let look = 0; look < MAX_LOOKS; look += 1) {
      let found = 0;
      for (const { name } of await database.tenantTables.holding(id)) {
        if (name === AUDIT_TABLE || name === KEY_TABLE) continue;
        found += await database.tenantTables.purge(name, id, signal);
      }
      purged += found;
      if (found === 0) break;
    }
    return purged;
  }

  async function remove(id: string, signal: AbortSignal): Promise<Removed> {
    const rows = await purgeRows(id, signal);
    const nothing = { deleted: 0, bytes: 0 };
    const { deleted, bytes } = objects.available ? await objects.all().deleteAll(`${id}/`) : nothing;
    signal.throwIfAborted();
    const late = await purgeRows(id, signal);
    const keys = await database.tenantTables.purge(KEY_TABLE, id, signal);
    return { rows: rows + late + keys, objects: deleted, bytes };
  }

  /** Marks the tenant, of which nothing but a record without a name is left, and records it, together and once. */
  async function finish(id: string, removed: Removed): Promise<void> {
    const now = new Date(clock.now());
    await database.transaction(async (entities) => {
      const marked = { purgedAt: now, updatedAt: now, name: PURGED_NAME };
      if ((await entities.nativeUpdate(Tenant, { id, purgedAt: null }, marked)) === 0) return;
      await entities.insert(AuditLog, {
        id: ids.uuid(),
        tenantId: id,
        userId: '',
        action: TENANT_PURGED,
        actionKey: actionKey(TENANT_PURGED),
        detail: { changes: { ...removed } },
        requestId: '',
        statusCode: 200,
        latencyMs: 0,
        createdAt: now,
        sessionId: null,
        sourceIp: null,
        userAgent: null,
        errorCode: null,
        authMethod: null,
      });
      await tellLifecycle(durableEvents).tenantPurged(entities, id);
    });
  }

  async function purge({ id, purgedAt }: DueTenant, run: PurgeRun, signal: AbortSignal): Promise<void> {
    const own = log.child({ tenant_id: id });
    if (!(await begin(id))) return;
    await run
      .halt(id, signal)
      .catch((err: unknown) =>
        own.warn(
          { err },
          'work of a deleted tenant did not end; what it writes is removed by the next purge',
        ),
      );
    signal.throwIfAborted();
    await run.removeElsewhere(id, signal);
    const removed = await remove(id, signal);
    if (purgedAt !== null) {
      if (removed.rows + removed.objects > 0)
        own.info({ ...removed }, 'what came late of a purged tenant was removed');
      return;
    }
    await audit.renameInDetails(id, { pseudonym: `erased-${ids.opaque()}` }, signal);
    await finish(id, removed);
    own.info({ ...removed }, 'a deleted tenant was purged');
  }

  return {
    async run(run) {
      const { signal } = run;
      for (let after = ''; ; ) {
        const due = await dueAfter(after);
        for (const tenant of due) {
          if (signal.aborted) return;
          try {
            await purge(tenant, run, signal);
          } catch (err) {
            if (signal.aborted) return;
            log.error(
              { err, tenant_id: tenant.id },
              'a deleted tenant could not be purged; the next run goes on',
            );
          }
        }
        if (due.length < PAGE) return;
        after = due.at(-1)!.id;
      }
    },
  };
}
