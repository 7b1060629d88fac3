import type { Clock } from '../../foundation/base/clock.ts';
import { within } from '../../foundation/base/deadline.ts';
import type { Ids } from '../../foundation/base/ids.ts';
import { Type } from '../../foundation/base/type.ts';
import type { KernelSettings } from '../../foundation/config/kernel-settings.ts';
import type { Database } from '../../foundation/data/database.ts';
import type { DurableEventsHost } from '../../foundation/messages/durable-events/durable-events.ts';
import type { Events } from '../../foundation/messages/events/events.ts';
import { defineEvent } from '../../foundation/messages/events/events.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import { createLastUsed } from '../../foundation/tables/api-key-use.ts';
import { tellLifecycle } from '../../foundation/tables/tell-lifecycle.ts';
import { createTenants, type Tenants } from '../tenancy/tenants.ts';
import { createApiKeyAuthenticator } from './api-key.ts';
import { type ApiKeyStore, createApiKeyStore } from './api-key-store.ts';
import { type AuthenticationChain, createAuthenticationChain } from './chain.ts';
import { createApiKeyLookup, createIdentityCache, type IdentityCache } from './identity-cache.ts';
import { createJwtAuthenticator } from './jwt.ts';
import { createStaticTokenAuthenticator } from './static-token.ts';

/** Milliseconds that the last notes get to reach the database. */
const CLOSE_TIMEOUT = 2_000;

/** Who may call: the credentials, and the tenants that they belong to. */
export interface Authentication {
  readonly chain: AuthenticationChain;
  readonly tenants: Tenants;
  readonly apiKeys: ApiKeyStore;
  /** Writes what is still noted about the use of keys, as far as that can be done in a moment. Never rejects. */
  close(): Promise<void>;
}

/** What authentication is made of. */
interface AuthenticationParts {
  readonly database: Database;
  readonly jwt: KernelSettings['jwt'];
  /** The static token of the operator; `undefined` when there is none. */
  readonly acpToken: string | undefined;
  /** The replicas notify each other of revocations with these. */
  readonly events: Events;
  readonly durableEvents: Pick<DurableEventsHost, 'publishOf'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
}

/** Puts the kernel's kinds of credential into the specification's order: static token, API key, JWT. */
export async function openAuthentication(parts: AuthenticationParts): Promise<Authentication> {
  const { database, events, clock, ids, log } = parts;
  const identities = createIdentityCache(createApiKeyLookup(database), clock);
  const onError = (err: unknown) => log.warn({ err }, 'the last use of API keys could not be noted');
  const lastUsed = createLastUsed({ database, clock, onError });
  const keys = {
    forget(hash: string) {
      identities.forget(hash);
      events.emit(KeyChanged, { hash });
    },
  };
  const lifecycle = tellLifecycle(parts.durableEvents);
  const tenants = createTenants({
    lifecycle,
    database,
    clock,
    ids,
    forgetIdentities: identities.forgetTenant,
    onChanged: (id) => events.emit(TenantChanged, { id }),
  });
  const unfollow = followCredentials(events, identities, tenants);
  const jwt = await createJwtAuthenticator(parts.jwt, { clock, log });
  const builtin = [
    parts.acpToken === undefined ? undefined : createStaticTokenAuthenticator(parts.acpToken),
    createApiKeyAuthenticator({ identities, clock, touch: lastUsed.touch }),
    jwt,
  ];
  return {
    chain: createAuthenticationChain({ builtin: builtin.filter((one) => one !== undefined) }),
    tenants,
    apiKeys: createApiKeyStore({ database, clock, ids, lifecycle, identities: keys }),
    close() {
      unfollow();
      // A database that is away must not keep the gateway from ending in order.
      return within(CLOSE_TIMEOUT, 'noting the last use of API keys', lastUsed.close()).catch(onError);
    },
  };
}

/** A key was revoked or replaced. Named by its hash, by which the caches know it. */
const KeyChanged = defineEvent('kernel.key-changed', Type.Object({ hash: Type.String({ maxLength: 64 }) }));
/** A tenant was changed, deleted or restored. */
const TenantChanged = defineEvent(
  'kernel.tenant-changed',
  Type.Object({ id: Type.String({ maxLength: 64 }) }),
);

/**
 * Drops what other replicas report as changed, from now on; returns a function that ends that. For events that are
 * missed, the greatest age of a cached entry is the bound.
 */
function followCredentials(events: Events, identities: IdentityCache, tenants: Pick<Tenants, 'forget'>) {
  const undo = [
    events.on(KeyChanged, ({ hash }, { origin }) => {
      if (origin === 'remote') identities.forget(hash);
    }),
    events.on(TenantChanged, ({ id }, { origin }) => {
      if (origin === 'remote') tenants.forget(id);
    }),
    events.onMissed(() => identities.clear()),
  ];
  return () => {
    for (const end of undo) end();
  };
}
