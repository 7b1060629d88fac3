import {
  ADMIN_SCOPE,
  ApiKeyErrors,
  type ApiKeyPage,
  type ApiKeyStore,
  type Clock,
  defineErrors,
  type FieldError,
  type Grant,
  GrantErrors,
  grantProblems,
  type Identity,
  isOperator,
  isUuid,
  KernelErrors,
  livingTenant,
  type NewApiKey,
  type OpenApiDocument,
  type Page,
  parseAuditTime,
  reachedTenant,
  reachOf,
  requireGrant,
  requireReach,
  type Tenants,
} from 'agent-gateway';

/** The new key that an administrator asks for. */
export interface WantedKey {
  readonly name: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
}

/**
 * What administrators do with API keys (specification 1, API keys; decisions 0.6, 1.2). Keys and tenants out of the
 * caller's reach count as missing. `tenantId`, where given, confines a call to that tenant.
 */
export type KeyAdministration = ReturnType<typeof createKeyAdministration>;

/** Makes the service. `routeScopes` names the scopes that live routes ask for. */
export function createKeyAdministration(options: {
  readonly apiKeys: ApiKeyStore;
  readonly tenants: Pick<Tenants, 'get'>;
  readonly clock: Clock;
  readonly routeScopes: () => ReadonlySet<string>;
}) {
  const { apiKeys, tenants, clock, routeScopes } = options;

  return {
    /**
     * The problems of a new key that do not depend on its maker: unknown roles and scopes, and an expiry in the past.
     * The body may have other errors as well.
     */
    problems: (body: Readonly<Record<string, unknown>>): readonly FieldError[] =>
      newKeyProblems(body, clock.now(), routeScopes()),
    /** Throws `tenant.not-found`, `tenant.deleted`, and what `requireNewKey` refuses. */
    async create(identity: Identity, tenantId: string, wanted: WantedKey): Promise<NewApiKey> {
      requireReach(identity, tenantId);
      requireNewKey(identity, { grant: wanted, expiresAt: wanted.expiresAt }, clock.now(), routeScopes());
      await livingTenant(tenants, identity, tenantId);
      return apiKeys.create({ ...wanted, tenantId, createdBy: identity.id });
    },
    /**
     * Newest first, revoked ones too; without `tenantId` all that are within reach. `q` is a part of name, prefix or
     * id.
     */
    async list(
      identity: Identity,
      page: Page & { readonly q?: string | undefined },
      tenantId?: string,
    ): Promise<ApiKeyPage> {
      if (tenantId !== undefined) await reachedTenant(tenants, identity, tenantId);
      return apiKeys.list({ ...page, tenantId: tenantId ?? reachOf(identity) });
    },
    /** Throws `api-key.not-found`. Repeated, it changes nothing. */
    async revoke(identity: Identity, id: string, tenantId?: string): Promise<void> {
      if (tenantId !== undefined) requireReach(identity, tenantId);
      const isRevoked = isUuid(id) && (await apiKeys.revoke(id, tenantId ?? reachOf(identity)));
      if (!isRevoked) throw ApiKeyErrors.notFound();
    },
    /**
     * Revokes a key and makes its successor. The caller gets the raw key, and must therefore be able to grant its roles
     * and scopes.
     */
    async rotate(identity: Identity, id: string, tenantId: string): Promise<NewApiKey> {
      await livingTenant(tenants, identity, tenantId);
      const old = isUuid(id) ? await apiKeys.find(id, tenantId) : undefined;
      if (old === undefined) throw ApiKeyErrors.notFound();
      // Scopes of a plugin that is not running now count as known; the caller must still have them.
      requireGrant(identity, old, new Set(old.scopes));
      return apiKeys.rotate(id, { tenantId, createdBy: identity.id });
    },
  };
}

/** The errors of the rules about API keys. */
const KeyRuleErrors = defineErrors({
  foreignTenant: {
    code: 'api-key.foreign-tenant',
    kind: 'forbidden',
    title: 'Keys of another tenant are made by administrators of the default tenant only',
  },
});

/**
 * The tenant of a key whose creator names `wanted` in the body. Only administrators of the default tenant may name
 * another tenant; for other callers a foreign one throws `api-key.foreign-tenant` (specification 1, API keys; decisions
 * 0.6).
 */
export function tenantOfNewKey(identity: Identity, wanted: string | undefined): string {
  if (wanted === undefined || wanted === identity.tenantId) return identity.tenantId;
  const isAdmin = identity.roles.includes('admin') || identity.scopes.has(ADMIN_SCOPE);
  if (isOperator(identity) && isAdmin) return wanted;
  throw KeyRuleErrors.foreignTenant(undefined, {
    errors: [{ pointer: '/body/tenant_id', message: 'is not your own tenant' }],
  });
}

/**
 * Throws unless `granter` may make a key with this grant and expiry: 400 with all problems, else 403 with all that
 * may not be granted (decisions 1.2). `also` names scopes of routes that the kernel itself does not know.
 */
export function requireNewKey(
  granter: Identity,
  key: { readonly grant: Grant; readonly expiresAt: Date | null },
  now: number,
  also: ReadonlySet<string>,
): void {
  const { unknown, refused } = grantProblems(granter, key.grant, also);
  const invalid = [...unknown, ...expiryProblems(key.expiresAt, now)];
  if (invalid.length > 0) throw KernelErrors.invalidRequest(undefined, { errors: [...invalid, ...refused] });
  if (refused.length > 0) throw GrantErrors.refused(undefined, { errors: refused });
}

/** Which roles and scopes exist does not depend on the caller. */
const ANYBODY: Identity = { id: '', tenantId: '', roles: [], scopes: new Set(), method: 'anonymous' };

/** The problems of a key, apart from what its maker may grant. A member of a wrong type is skipped. */
function newKeyProblems(
  { roles, scopes, expires_at: expiry }: Readonly<Record<string, unknown>>,
  now: number,
  also: ReadonlySet<string>,
): readonly FieldError[] {
  // What is no text is no role and no scope.
  const texts = (value: unknown) =>
    Array.isArray(value) ? value.map((one) => (typeof one === 'string' ? one : '')) : [];
  const { unknown } = grantProblems(ANYBODY, { roles: texts(roles), scopes: texts(scopes) }, also);
  return [...unknown, ...writtenExpiryProblems(expiry, now)];
}

/** The problems of the `expires_at` of a body, which may be anything: a value of a wrong type is skipped. */
export function writtenExpiryProblems(expiry: unknown, now: number): readonly FieldError[] {
  if (typeof expiry !== 'string') return [];
  const moment = parseAuditTime(expiry, 'to');
  return moment === undefined ? [NO_MOMENT] : expiryProblems(moment, now);
}

/** The problem of an expiry that is well-formed and no time, such as a leap second. */
export const NO_MOMENT: FieldError = {
  pointer: '/body/expires_at',
  message: 'must be an RFC 3339 timestamp without a leap second',
};

/** The problems of a new key's expiry; `null` is never. */
export function expiryProblems(expiresAt: Date | null, now: number): readonly FieldError[] {
  if (expiresAt === null || expiresAt.getTime() > now) return [];
  return [{ pointer: '/body/expires_at', message: 'must be in the future' }];
}

/**
 * The scopes that the described routes ask for. Plugins may name scopes of their own, and those can be granted as well.
 */
export function routeScopes(document: OpenApiDocument): ReadonlySet<string> {
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path)) as {
    readonly 'x-access'?: { readonly scopes?: readonly string[] };
  }[];
  return new Set(operations.flatMap((operation) => operation['x-access']?.scopes ?? []));
}
