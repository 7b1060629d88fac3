import { hash } from 'node:crypto';
import { LockMode } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import type { Clock } from '../../foundation/base/clock.ts';
import type { Ids } from '../../foundation/base/ids.ts';
import type { Database } from '../../foundation/data/database.ts';
import { RETRY_RACES } from '../../foundation/data/retry.ts';
import { ApiKey } from '../../foundation/tables/api-key.ts';
import type { Lifecycle } from '../../foundation/tables/tell-lifecycle.ts';
import { type BootstrapSettings, FIRST_KEY, hasUsableAdmin, requireNoAdmin } from './bootstrap.ts';
import { ApiKeyErrors } from './errors.ts';
import type { IdentityCache } from './identity-cache.ts';

/** An API key as it is shown after it was made: neither the raw value nor its hash (specification 1, API key). */
export interface ApiKeyRecord {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  /** The first 8 characters of the raw value. */
  readonly prefix: string;
  readonly roles: readonly string[];
  /** As listed at creation; an empty list is a legacy key. */
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  /** Identity that made it; `null` for the key of the bootstrap. */
  readonly createdBy: string | null;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** Written at most once a minute. */
  readonly lastUsedAt: Date | null;
}

/** A key just made, with its raw value: the only time that the raw value is shown. */
export interface NewApiKey {
  readonly record: ApiKeyRecord;
  /** `hk_…`; belongs into one response and nowhere else. */
  readonly key: string;
}

/** What a new key is to be. Validated, and checked with `requireGrant`, by the route. */
export interface ApiKeySettings {
  readonly tenantId: string;
  readonly name: string;
  readonly roles: readonly string[];
  /** An empty list is a legacy key. */
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
  /** Identity of the maker. */
  readonly createdBy: string | null;
}

/** What every raw API key begins with (specification 1, API key). */
export const API_KEY_PREFIX = 'hk_';

const RANDOM_BYTES = 32;
const VISIBLE_CHARACTERS = 8;

/** A new raw value, `hk_` and 256 random bits in base64url (decisions 1.2), with what is stored of it. */
function generateApiKey(ids: Pick<Ids, 'bytes'>) {
  const raw = `${API_KEY_PREFIX}${ids.bytes(RANDOM_BYTES).toString('base64url')}`;
  return { raw, hash: hashApiKey(raw), prefix: raw.slice(0, VISIBLE_CHARACTERS) };
}

/** The SHA-256 of a raw key in hex: all that is ever stored of it. */
export function hashApiKey(raw: string): string {
  return hash('sha256', raw, 'hex');
}

/** A page of keys. */
export interface ApiKeyPage {
  readonly records: readonly ApiKeyRecord[];
  /** How many there are on all pages. */
  readonly total: number;
}

/**
 * The API keys of the deployment. `tenantId` confines a call to one tenant: a foreign key is then not there. Without it
 * the call reaches all tenants, which is for operators.
 */
export interface ApiKeyStore {
  /** Makes a key. Throws, and stores nothing, when there is no randomness. */
  create(settings: ApiKeySettings): Promise<NewApiKey>;
  find(id: string, tenantId?: string): Promise<ApiKeyRecord | undefined>;
  /** Keys, newest first, revoked ones too; with `q` those that have it in name, prefix or id. */
  list(options: {
    readonly limit: number;
    readonly offset: number;
    readonly tenantId?: string;
    readonly q?: string | undefined;
  }): Promise<ApiKeyPage>;
  /**
   * Revokes a key; false when there is none. When it has resolved, the key fails here at once, and elsewhere within a
   * second. Repeated, it changes nothing.
   */
  revoke(id: string, tenantId?: string): Promise<boolean>;
  /**
   * Revokes a key and makes another one with its name, roles, scopes and expiry, in one transaction. The receiver of
   * the new key gets its permissions: ask `requireGrant` with the old record first. Throws `api-key.not-found`,
   * `api-key.revoked` and `api-key.expired`.
   */
  rotate(
    id: string,
    options: { readonly tenantId?: string; readonly createdBy: string | null },
  ): Promise<NewApiKey>;
  /** True while the tenant has an administrator key that is neither revoked nor expired. */
  hasUsableAdmin(tenantId: string): Promise<boolean>;
  /**
   * Makes the first administrator key of the default tenant, with break-glass. Of simultaneous calls, on any replica,
   * one wins; the others, and all later ones while a usable administrator key exists, throw `bootstrap.completed`.
   */
  bootstrap(settings: BootstrapSettings): Promise<NewApiKey>;
}

/** Makes the store. `identities` is notified of every key that must no longer be served from memory. */
export function createApiKeyStore({
  database,
  clock,
  ids,
  identities,
  lifecycle,
}: {
  readonly database: Pick<Database, 'system' | 'transaction' | 'pageOfAll'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly identities: Pick<IdentityCache, 'forget'>;
  /** Publishes what happens, together with it. */
  readonly lifecycle: Pick<Lifecycle, 'keyCreated' | 'keyRotated' | 'keyRevoked'>;
}): ApiKeyStore {
  async function insert(entities: SqlEntityManager, settings: ApiKeySettings): Promise<NewApiKey> {
    const { raw, hash, prefix } = generateApiKey(ids);
    const record: ApiKeyRecord = {
      id: ids.uuid(),
      tenantId: settings.tenantId,
      name: settings.name,
      prefix,
      roles: [...new Set(settings.roles)],
      scopes: [...new Set(settings.scopes)],
      createdAt: new Date(clock.now()),
      createdBy: settings.createdBy,
      expiresAt: settings.expiresAt,
      revokedAt: null,
      lastUsedAt: null,
    };
    await entities.insert(ApiKey, { ...record, roles: [...record.roles], scopes: [...record.scopes], hash });
    return { record, key: raw };
  }

  async function create(entities: SqlEntityManager, settings: ApiKeySettings): Promise<NewApiKey> {
    const made = await insert(entities, settings);
    await lifecycle.keyCreated(entities, made.record);
    return made;
  }

  return {
    create: (settings) => database.transaction((entities) => create(entities, settings)),
    async find(id, tenantId) {
      const row = await database.system().findOne(ApiKey, within({ id }, tenantId));
      return row === null ? undefined : toRecord(row);
    },
    async list({ limit, offset, tenantId, q }) {
      const search = q === undefined ? undefined : { text: q, in: ['name', 'prefix', 'id'] as const };
      const query = { orderBy: { createdAt: 'desc', id: 'desc' }, limit, offset, search } as const;
      const [rows, total] = await database.pageOfAll(ApiKey, within({}, tenantId), query);
      return { records: rows.map(toRecord), total };
    },
    async revoke(id, tenantId) {
      const row = await database.system().findOne(ApiKey, within({ id }, tenantId));
      if (row === null) return false;
      const revoked = { revokedAt: new Date(clock.now()) };
      try {
        await database.transaction(async (entities) => {
          const isNew = (await entities.nativeUpdate(ApiKey, { id, revokedAt: null }, revoked)) > 0;
          if (isNew) await lifecycle.keyRevoked(entities, row);
        }, RETRY_RACES);
      } finally {
        // Also after a failure: a commit whose answer was lost has happened.
        identities.forget(row.hash);
      }
      return true;
    },
    async rotate(id, { tenantId, createdBy }) {
      let hash: string | undefined;
      try {
        return await database.transaction(async (entities) => {
          const old = await entities.findOne(ApiKey, within({ id }, tenantId), {
            lockMode: LockMode.PESSIMISTIC_WRITE,
          });
          if (old === null) throw ApiKeyErrors.notFound();
          if (old.revokedAt !== null) throw ApiKeyErrors.revoked();
          const now = new Date(clock.now());
          if (old.expiresAt !== null && old.expiresAt <= now) throw ApiKeyErrors.expired();
          hash = old.hash;
          await entities.nativeUpdate(ApiKey, { id }, { revokedAt: now });
          const made = await insert(entities, { ...toRecord(old), createdBy });
          await lifecycle.keyRotated(entities, old, made.record.id);
          return made;
        }, RETRY_RACES);
      } finally {
        if (hash !== undefined) identities.forget(hash);
      }
    },
    hasUsableAdmin: (tenantId) => hasUsableAdmin(database.system(), tenantId, new Date(clock.now())),
    bootstrap: (settings) =>
      database.transaction(async (entities) => {
        await requireNoAdmin(entities, new Date(clock.now()));
        return create(entities, { ...settings, ...FIRST_KEY });
      }, RETRY_RACES),
  };
}

function within<W extends object>(where: W, tenantId: string | undefined): W & { tenantId?: string } {
  return tenantId === undefined ? where : { ...where, tenantId };
}

/** A row without its hash. */
function toRecord(row: ApiKeyRecord): ApiKeyRecord {
  return {
    id: row.id,
    tenantId: row.tenantId,
    name: row.name,
    prefix: row.prefix,
    roles: row.roles,
    scopes: row.scopes,
    createdAt: row.createdAt,
    createdBy: row.createdBy ?? null,
    expiresAt: row.expiresAt ?? null,
    revokedAt: row.revokedAt ?? null,
    lastUsedAt: row.lastUsedAt ?? null,
  };
}
