import {
  ApiKeyErrors,
  type ApiKeyPage,
  type ApiKeyStore,
  type Clock,
  type Identity,
  type NewApiKey,
  type Page,
  requireGrant,
  TenantErrors,
  type Tenants,
} from 'agent-gateway';
import { requireNewKey } from './key-rules.ts';
import { isId, reachOf, requireReach } from './reach.ts';

/** What an administrator says about a new key. */
export interface WantedKey {
  readonly name: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
}

/**
 * What administrators do with API keys (specification 1, API keys; decisions 0.6, 1.2). Keys and tenants out of the
 * caller's reach are not there. `tenantId`, where given, confines a call to that tenant.
 */
export interface KeyAdministration {
  /** Throws `tenant.not-found`, `tenant.deleted`, and what `requireNewKey` refuses. */
  create(identity: Identity, tenantId: string, wanted: WantedKey): Promise<NewApiKey>;
  /** Newest first, revoked ones too; without `tenantId` all that are within reach. */
  list(identity: Identity, page: Page, tenantId?: string): Promise<ApiKeyPage>;
  /** Throws `api-key.not-found`. Repeated, it changes nothing. */
  revoke(identity: Identity, id: string, tenantId?: string): Promise<void>;
  /** Revokes a key and makes its successor. The caller gets the raw key, so he must be able to grant what it may do. */
  rotate(identity: Identity, id: string, tenantId: string): Promise<NewApiKey>;
}

/** Makes the service. `routeScopes` names the scopes that live routes ask for. */
export function createKeyAdministration(options: {
  readonly apiKeys: ApiKeyStore;
  readonly tenants: Pick<Tenants, 'get'>;
  readonly clock: Clock;
  readonly routeScopes: () => ReadonlySet<string>;
}): KeyAdministration {
  const { apiKeys, tenants, clock, routeScopes } = options;

  async function requireLiveTenant(tenantId: string): Promise<void> {
    const tenant = isId(tenantId) ? await tenants.get(tenantId) : undefined;
    if (tenant === undefined) throw TenantErrors.notFound();
    if (tenant.deletedAt !== null) throw TenantErrors.isDeleted();
  }

  return {
    async create(identity, tenantId, wanted) {
      requireReach(identity, tenantId);
      requireNewKey(identity, { grant: wanted, expiresAt: wanted.expiresAt }, clock.now(), routeScopes());
      await requireLiveTenant(tenantId);
      return apiKeys.create({ ...wanted, tenantId, createdBy: identity.id });
    },
    async list(identity, page, tenantId) {
      if (tenantId === undefined) return apiKeys.list({ ...page, tenantId: reachOf(identity) });
      requireReach(identity, tenantId);
      if (!isId(tenantId) || (await tenants.get(tenantId)) === undefined) throw TenantErrors.notFound();
      return apiKeys.list({ ...page, tenantId });
    },
    async revoke(identity, id, tenantId) {
      if (tenantId !== undefined) requireReach(identity, tenantId);
      const isRevoked = isId(id) && (await apiKeys.revoke(id, tenantId ?? reachOf(identity)));
      if (!isRevoked) throw ApiKeyErrors.notFound();
    },
    async rotate(identity, id, tenantId) {
      requireReach(identity, tenantId);
      await requireLiveTenant(tenantId);
      const old = isId(id) ? await apiKeys.find(id, tenantId) : undefined;
      if (old === undefined) throw ApiKeyErrors.notFound();
      // The scopes of a plugin that is away now are no reason to refuse; whether the caller has them still counts.
      requireGrant(identity, old, new Set(old.scopes));
      return apiKeys.rotate(id, { tenantId, createdBy: identity.id });
    },
  };
}
