import {
  type Clock,
  type Database,
  DEFAULT_TENANT_ID,
  type GatewayError,
  type Identity,
  type Ids,
  isOperator,
  isUniqueViolation,
  isUuid,
  type Leases,
  livingTenant,
  narrowedTo,
  type Page,
  RETRY_RACES,
  reachOf,
  SecretErrors,
  type SecretOrigin,
  type Secrets,
  type Tenants,
} from 'agent-gateway';
import type { Platform } from '../contract.ts';
import { deleteApp, findApp, lockApp, pageOfApps } from '../store/apps.ts';
import { type AppRow, AppTable, SessionTable } from '../store/tables.ts';
import { givenReferences, type References, requireLoginSecret, useOf, writersAfter } from './app-rules.ts';
import { ChannelErrors } from './errors.ts';
import type { Providers } from './providers/providers.ts';
import type { EndedSessions } from './sessions-ended.ts';

/** Channel apps of one tenant. */
export const MAX_APPS = 100;

/** What an administrator gives for a new app. */
export interface NewApp extends References {
  readonly tenantId?: string | undefined;
  readonly platform: Platform;
  readonly appKey: string;
  readonly enabled?: boolean | undefined;
}

/** What an administrator changes; absent members stay as they are. */
export interface AppChanges extends References {
  readonly enabled?: boolean | undefined;
}

export type Apps = ReturnType<typeof createApps>;

/** What administrators do with channel apps (decisions 0.6, 1.10). Apps out of the caller's reach are not there. */
export function createApps(parts: {
  readonly database: Pick<Database, 'system' | 'forTenant'>;
  readonly tenants: Pick<Tenants, 'get'>;
  readonly leases: Pick<Leases, 'withLease'>;
  readonly secrets: Pick<Secrets, 'resolve'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly providers: Pick<Providers, 'apiOf'>;
  readonly ended: (sessions: EndedSessions) => void;
}) {
  const { database, tenants, leases, secrets, clock, ids, providers, ended } = parts;

  /**
   * Throws `secret.refused` for a reference that the tenant of an app may not name, or not send there. A secret that
   * does not exist yet is accepted.
   */
  async function requireAllowed(
    given: References,
    writer: SecretOrigin,
    app: Pick<AppRow, 'tenantId' | 'platform'>,
  ): Promise<void> {
    const from = useOf(writer, app, providers);
    for (const reference of Object.values(givenReferences(given))) {
      if (reference === null) continue;
      await secrets.resolve(reference, from).catch((error: GatewayError) => {
        if (SecretErrors.refused.is(error)) throw error;
      });
    }
  }

  async function get(identity: Identity, id: string): Promise<AppRow> {
    const app = isUuid(id) ? await findApp(database, id, reachOf(identity)) : undefined;
    if (app === undefined) throw ChannelErrors.appNotFound();
    return app;
  }

  /** The tenant for which an app is made. Throws `channel.foreign-tenant`, `tenant.not-found`, `tenant.deleted`. */
  async function ownerOf(identity: Identity, tenantId: string = identity.tenantId): Promise<string> {
    if (tenantId === identity.tenantId) return tenantId;
    if (!isOperator(identity)) {
      const errors = [{ pointer: '/body/tenant_id', message: 'is not your own tenant' }];
      throw ChannelErrors.foreignTenant(undefined, { errors });
    }
    await livingTenant(tenants, identity, tenantId);
    return tenantId;
  }

  return {
    /** Throws `channel.app-not-found`. */
    get,

    /** Operators: apps of all tenants, or of `tenantId`. Others: their own; a foreign `tenantId` has none to show. */
    async list(identity: Identity, tenantId: string | undefined, page: Page) {
      const only = narrowedTo(identity, tenantId);
      return only === null ? { apps: [], total: 0 } : pageOfApps(database, only, page);
    },

    /** Throws `channel.app-taken`, `channel.too-many-apps`, `secret.refused`, and what `ownerOf` does. */
    async create(identity: Identity, wanted: NewApp): Promise<AppRow> {
      const tenantId = await ownerOf(identity, wanted.tenantId);
      const from = originOf(identity);
      await requireAllowed(wanted, from, { tenantId, platform: wanted.platform });
      const entities = database.forTenant(tenantId);
      const { platform, appKey, enabled = true } = wanted;
      const now = new Date(clock.now());
      const app = {
        id: ids.uuid(),
        platform,
        appKey,
        enabled,
        appSecretRef: null,
        oauthSecretRef: null,
        webhookSecretRef: null,
        ...givenReferences(wanted),
        createdAt: now,
        updatedAt: now,
        tenantRefs: writersAfter('', wanted, from),
      };
      // One at a time, or concurrent callers would pass the bound together.
      await leases.withLease(`channel-apps:${tenantId}`, { strict: true }, async () => {
        if ((await entities.count(AppTable)) >= MAX_APPS) {
          throw ChannelErrors.tooManyApps(`A tenant can have ${MAX_APPS} channel apps.`);
        }
        try {
          // Unique among the apps of all tenants.
          await entities.insert(AppTable, app);
        } catch (error) {
          if (!isUniqueViolation(error)) throw error;
          const errors = [{ pointer: '/body/app_key', message: 'is that of another app of this platform' }];
          throw ChannelErrors.appTaken(undefined, { errors });
        }
      });
      return { ...app, tenantId };
    },

    /**
     * An app that is disabled ends its cookie sessions. Throws `channel.app-not-found`, `tenant.deleted`,
     * `request.invalid`, `secret.refused`.
     */
    async update(identity: Identity, id: string, wanted: AppChanges): Promise<AppRow> {
      const app = await get(identity, id);
      const { tenantId } = app;
      await livingTenant(tenants, identity, tenantId);
      const from = originOf(identity);
      await requireAllowed(wanted, from, app);
      try {
        return await database.forTenant(tenantId).transaction(async (entities) => {
          const before = await lockApp(entities, id);
          if (before === undefined) throw ChannelErrors.appNotFound();
          const changes = {
            ...givenReferences(wanted),
            enabled: wanted.enabled ?? before.enabled,
            tenantRefs: writersAfter(before.tenantRefs, wanted, from),
            updatedAt: new Date(clock.now()),
          };
          const after: AppRow = { ...before, ...changes };
          requireLoginSecret(after);
          await entities.update(AppTable, { id }, changes);
          if (!after.enabled) await entities.delete(SessionTable, { channelAppId: id });
          return after;
        }, RETRY_RACES);
      } finally {
        // Also after a failure: the commit may have happened although its answer was lost.
        if (wanted.enabled === false) ended({ tenant_id: tenantId, channel_app_id: id });
      }
    },

    /** Deletes an app with its bindings, links and cookie sessions. Throws `channel.app-not-found`. */
    async remove(identity: Identity, id: string): Promise<AppRow> {
      const app = await get(identity, id);
      const { tenantId } = app;
      try {
        const entities = database.forTenant(tenantId);
        if (!(await entities.transaction((inside) => deleteApp(inside, id), RETRY_RACES))) {
          throw ChannelErrors.appNotFound();
        }
        return app;
      } finally {
        ended({ tenant_id: tenantId, channel_app_id: id });
      }
    },
  };
}

/**
 * Who counts as the writer of this caller's references, which decides what they may name: the default tenant counts as
 * the operator.
 */
function originOf({ tenantId }: Identity): SecretOrigin {
  return tenantId === DEFAULT_TENANT_ID ? 'operator' : 'tenant';
}
