import { LockMode } from '@mikro-orm/core';
import { createSharedCache } from '../../foundation/base/cache.ts';
import type { Clock } from '../../foundation/base/clock.ts';
import type { Ids } from '../../foundation/base/ids.ts';
import type { Database } from '../../foundation/data/database.ts';
import { RETRY_RACES } from '../../foundation/data/retry.ts';
import type { Lifecycle } from '../../foundation/tables/tell-lifecycle.ts';
import { type ChatContext, Tenant, TenantErrors } from '../../foundation/tables/tenant.ts';
import { DEFAULT_TENANT_ID } from '../access/identity.ts';

/** A tenant as the gateway works with it (specification 1, Tenant; decisions 1.1). */
export interface TenantRecord {
  readonly id: string;
  readonly name: string;
  readonly plan: string;
  /** Requests a minute for all credentials of the tenant together. */
  readonly rateLimitRpm: number;
  /** Sessions that may have a turn in flight at one time. */
  readonly maxSessions: number;
  /** Whether its chat completions get the gateway's own context. */
  readonly chatContext: ChatContext;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Set by a delete: from then on no credential of the tenant is accepted. */
  readonly deletedAt: Date | null;
  /** When the rows and objects of a deleted tenant are removed. */
  readonly purgeAfter: Date | null;
  /** Since when it is too late to restore it. */
  readonly purgeStartedAt: Date | null;
  /** When nothing of it was left. */
  readonly purgedAt: Date | null;
}

/** The plans that a tenant may have (decisions 1.1). */
export const PLANS = ['free', 'pro', 'enterprise'] as const;

/** What a new tenant gets where its creator says nothing (decisions 1.1). */
export const TENANT_DEFAULTS = {
  plan: 'free',
  rateLimitRpm: 60,
  maxSessions: 100,
  chatContext: 'full',
} as const;

/** What an administrator says about a tenant. Validated by the route. */
export type TenantSettings = Pick<
  TenantRecord,
  'name' | 'plan' | 'rateLimitRpm' | 'maxSessions' | 'chatContext'
>;

/** A page of tenants. */
export interface TenantPage {
  readonly records: readonly TenantRecord[];
  /** How many there are on all pages. */
  readonly total: number;
}

/** The tenants of the deployment. The caller has checked before who may do what to which one. */
export interface Tenants {
  /** A tenant by id, deleted ones too; no promise when at hand. At most 1 s old, never older than changes made here. */
  get(id: string): TenantRecord | undefined | Promise<TenantRecord | undefined>;
  /** Makes a tenant; what is absent comes from `TENANT_DEFAULTS`. */
  create(settings: Partial<TenantSettings> & Pick<TenantSettings, 'name'>): Promise<TenantRecord>;
  /**
   * Tenants, newest first; `only` narrows to one id (what another tenant's administrator sees). With `includeDeleted`
   * those that are deleted too, or of these only those that are not purged.
   */
  list(options: {
    readonly limit: number;
    readonly offset: number;
    readonly includeDeleted?: boolean | 'unpurged';
    readonly only?: string;
  }): Promise<TenantPage>;
  /** Changes what is given and leaves the rest. Throws `tenant.not-found` and `tenant.deleted`. */
  update(id: string, settings: Partial<TenantSettings>): Promise<TenantRecord>;
  /**
   * Ends a tenant: when this has resolved, none of its credentials is accepted here, and a second later nowhere. Its
   * data may be purged from `purgeAfter` on. May be called again. Throws `tenant.default` and `tenant.not-found`.
   */
  scheduleDelete(id: string, purgeAfter: Date): Promise<TenantRecord>;
  /**
   * Takes a delete back, until `purgeAfter`: from then on `tenant.purged`, since the purge may be under way. Throws
   * `tenant.not-found`, and `tenant.not-deleted` for a tenant that is live.
   */
  restore(id: string): Promise<TenantRecord>;
  /** Drops what is cached about a tenant, as after a change that another replica reports. */
  forget(id: string): void;
}

const MAX_AGE_MS = 1000;
const MAX_TENANTS = 10_000;

/** Makes the service. `forgetIdentities` drops the cached credentials of a tenant. */
export function createTenants(options: {
  readonly database: Pick<Database, 'system' | 'transaction'>;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Publishes what happens, together with it. */
  readonly lifecycle: Pick<Lifecycle, 'tenantCreated' | 'tenantChanged'>;
  readonly forgetIdentities: (tenantId: string) => void;
  /** Called for each change that was made through this object. */
  readonly onChanged?: (tenantId: string) => void;
}): Tenants {
  const { database, clock, ids, lifecycle, forgetIdentities, onChanged = () => {} } = options;
  const cache = createSharedCache<TenantRecord | undefined>({
    load: read,
    clock,
    maxAge: MAX_AGE_MS,
    maxEntries: MAX_TENANTS,
  });

  async function read(id: string): Promise<TenantRecord | undefined> {
    const row = await database.system().findOne(Tenant, { id });
    return row === null ? undefined : toRecord(row);
  }

  function forget(id: string): void {
    cache.forget(id);
    forgetIdentities(id);
  }

  /** Writes what `decide` says about the current record, or nothing when it says `undefined`; one writer at a time. */
  async function change(
    id: string,
    decide: (current: TenantRecord, now: Date) => Partial<TenantRecord> | undefined,
  ): Promise<TenantRecord> {
    try {
      return await database.transaction(async (entities) => {
        const row = await entities.findOne(Tenant, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
        if (row === null) throw TenantErrors.notFound();
        const current = toRecord(row);
        const now = new Date(clock.now());
        const changes = decide(current, now);
        if (changes === undefined) return current;
        await entities.nativeUpdate(Tenant, { id }, { ...changes, updatedAt: now });
        await lifecycle.tenantChanged(entities, id, changes);
        return { ...current, ...changes, updatedAt: now };
      }, RETRY_RACES);
    } finally {
      // Also after a failure: a commit whose answer was lost has happened.
      forget(id);
      onChanged(id);
    }
  }

  return {
    get: cache.get,
    forget,
    async create(settings) {
      const now = new Date(clock.now());
      const record: TenantRecord = {
        ...TENANT_DEFAULTS,
        ...withoutUndefined(settings),
        name: settings.name,
        id: ids.uuid(),
        createdAt: now,
        updatedAt: now,
        deletedAt: null,
        purgeAfter: null,
        purgeStartedAt: null,
        purgedAt: null,
      };
      await database.transaction(async (entities) => {
        await entities.insert(Tenant, record);
        await lifecycle.tenantCreated(entities, record);
      });
      return record;
    },
    async list({ limit, offset, includeDeleted = false, only }) {
      const where = {
        ...(only !== undefined && { id: only }),
        ...(!includeDeleted && { deletedAt: null }),
        ...(includeDeleted === 'unpurged' && { purgedAt: null }),
      };
      const [rows, total] = await database
        .system()
        .findAndCount(Tenant, where, { orderBy: [{ createdAt: 'desc' }, { id: 'desc' }], limit, offset });
      return { records: rows.map(toRecord), total };
    },
    update: (id, settings) =>
      change(id, (current) => {
        if (current.deletedAt !== null) throw TenantErrors.isDeleted();
        const changes = withoutUndefined(settings);
        return Object.keys(changes).length === 0 ? undefined : changes;
      }),
    async scheduleDelete(id, purgeAfter) {
      if (id === DEFAULT_TENANT_ID) throw TenantErrors.isDefault();
      return change(id, (current, now) =>
        current.deletedAt === null ? { deletedAt: now, purgeAfter } : undefined,
      );
    },
    restore: (id) =>
      change(id, (current, now) => {
        if (current.deletedAt === null) throw TenantErrors.isNotDeleted();
        const { purgeAfter, purgeStartedAt } = current;
        if (purgeAfter === null || purgeAfter <= now || purgeStartedAt !== null)
          throw TenantErrors.isPurged();
        return { deletedAt: null, purgeAfter: null };
      }),
  };
}

/** True for a tenant whose credentials are accepted. */
export function isLive(tenant: TenantRecord | undefined): tenant is TenantRecord {
  return tenant !== undefined && tenant.deletedAt === null;
}

function toRecord(row: TenantRecord): TenantRecord {
  return {
    id: row.id,
    name: row.name,
    plan: row.plan,
    rateLimitRpm: row.rateLimitRpm,
    maxSessions: row.maxSessions,
    chatContext: row.chatContext,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    deletedAt: row.deletedAt ?? null,
    purgeAfter: row.purgeAfter ?? null,
    purgeStartedAt: row.purgeStartedAt ?? null,
    purgedAt: row.purgedAt ?? null,
  };
}

/** The settings that were given: an absent field is never blanked, and no other one is written. */
function withoutUndefined(settings: Partial<TenantSettings>): Partial<TenantSettings> {
  const { name, plan, rateLimitRpm, maxSessions, chatContext } = settings;
  return Object.fromEntries(
    Object.entries({ name, plan, rateLimitRpm, maxSessions, chatContext }).filter(
      ([, value]) => value !== undefined,
    ),
  );
}
