import {
  type Clock,
  type Database,
  GatewayError,
  type Identity,
  type Ids,
  livingTenant,
  RETRY_RACES,
  type Secrets,
  type TenantEntityManager,
  type Tenants,
} from 'agent-gateway';
import { CHANNEL_SESSION, PLATFORMS, type Platform } from '../contract.ts';
import { findApp, findAppByKey, lockApp } from '../store/apps.ts';
import { noteLogin } from '../store/bindings.ts';
import { beginLogin, endLogin, findLink, findState } from '../store/logins.ts';
import { type AppRow, BindingTable, LinkTable, SessionTable, type StateRow } from '../store/tables.ts';
import { loginSecretOf, useOf } from './app-rules.ts';
import type { Apps } from './apps.ts';
import { ChannelErrors } from './errors.ts';
import type { Providers } from './providers/providers.ts';
import { homeOf, returnPath } from './return-to.ts';
import { hasHash, hashOf, isSecret, LOGIN_SECONDS, newSecret, SESSION_SECONDS, userHash } from './secrets.ts';

/** A link for one login. */
export interface Link {
  readonly url: string;
  readonly challenge: string;
  readonly expiresAt: Date;
}

/** A login that has begun. */
export interface BegunLogin {
  /** The provider's page. */
  readonly location: string;
  readonly state: string;
  /** For the cookie of this login, so that no other browser can complete it. */
  readonly browserSecret: string;
}

/** A login that has succeeded. */
export interface EndedLogin {
  readonly returnTo: string;
  readonly userId: string;
  readonly bindingId: string;
  /** For the cookies. */
  readonly token: string;
  readonly csrf: string;
}

/** Records whose login it is, as soon as that is known. */
export type Note = (actor: {
  readonly id: string;
  readonly tenantId: string;
  readonly method: string;
}) => void;

/** Counts a login by how it ended: `refused` is an error of the caller, `failed` one of the provider or the gateway. */
export type Counted = (platform: Platform, result: 'success' | 'refused' | 'failed') => void;

interface LoginsParts {
  readonly database: Pick<Database, 'system' | 'forTenant'>;
  readonly tenants: Pick<Tenants, 'get'>;
  readonly secrets: Pick<Secrets, 'resolve'>;
  readonly apps: Pick<Apps, 'get'>;
  readonly providers: Pick<Providers, 'apiOf' | 'authorizeUrl' | 'identify'>;
  /** One for all replicas: each step of a login, and the revocation of its user, may be another one's. */
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Pick<Ids, 'bytes' | 'uuid'>;
  /** `SVC_CHANNEL_HASH_SECRET` and `SAAS_PUBLIC_URL`. */
  readonly hashSecret: string | undefined;
  readonly publicUrl: string | undefined;
  readonly counted: Counted;
}

/**
 * The way in through a channel (decisions 1.10). The process keeps no state of a login: each step may reach another
 * replica.
 */
export function createLogins(parts: LoginsParts) {
  const { database, tenants, secrets, apps, providers, clock, ids, counted } = parts;

  /** Throws `channel.not-configured`, which names the variable to the operator. */
  function configuration(): { readonly hashSecret: string; readonly publicUrl: string } {
    const { hashSecret, publicUrl } = parts;
    if (hashSecret === undefined) throw ChannelErrors.notConfigured('SVC_CHANNEL_HASH_SECRET is not set');
    if (publicUrl === undefined) throw ChannelErrors.notConfigured('SAAS_PUBLIC_URL is not set');
    return { hashSecret, publicUrl };
  }

  /** Whether people may log in through an app: it is enabled, and its tenant is there. */
  async function isOpen(app: AppRow | undefined): Promise<boolean> {
    if (app === undefined || !app.enabled) return false;
    const tenant = await tenants.get(app.tenantId);
    return tenant !== undefined && tenant.deletedAt === null;
  }

  async function secretOf(app: AppRow): Promise<string> {
    const { reference, from } = loginSecretOf(app);
    try {
      return await secrets.resolve(reference, useOf(from, app, providers));
    } catch (cause) {
      throw ChannelErrors.secretUnavailable(undefined, { cause });
    }
  }

  /** Takes the login that a browser returns for. Of several concurrent callbacks only one gets it. */
  async function take(
    platform: Platform,
    state: string,
    browserSecret: string | undefined,
  ): Promise<StateRow> {
    if (!isSecret(state) || browserSecret === undefined) throw ChannelErrors.stateInvalid();
    const begun = await findState(database, hashOf(state));
    if (begun === undefined || begun.platform !== platform || begun.expiresAt.getTime() <= clock.now()) {
      throw ChannelErrors.stateInvalid();
    }
    // A callback from another browser leaves the state in place for the browser that began the login.
    if (!hasHash(browserSecret, begun.browserHash)) throw ChannelErrors.stateInvalid();
    if (!(await endLogin(database.forTenant(begun.tenantId), begun))) throw ChannelErrors.stateInvalid();
    return begun;
  }

  /** Lets a user in. Throws `channel.app-not-found` and `channel.binding-revoked`. */
  async function admit(entities: TenantEntityManager, begun: StateRow, providerUserHash: string) {
    const now = new Date(clock.now());
    const { tenantId, channelAppId, platform } = begun;
    // App and binding stay locked until the session is stored: a concurrent disable or revoke is either seen here or
    // finds the session to end.
    const app = await lockApp(entities, channelAppId);
    if (!app?.enabled) throw ChannelErrors.appNotFound();
    const binding = await noteLogin(entities, {
      id: ids.uuid(),
      userId: ids.uuid(),
      tenantId,
      channelAppId,
      platform,
      providerUserHash,
      createdAt: now,
      lastLoginAt: now,
      revokedAt: null,
    });
    // A user whose binding was revoked can log in again only by a link that was made afterwards.
    const { revokedAt } = binding;
    if (revokedAt !== null && revokedAt > begun.linkCreatedAt) throw ChannelErrors.revoked();
    const { userId, id: bindingId } = binding;
    if (revokedAt !== null) await entities.update(BindingTable, { id: bindingId }, { revokedAt: null });
    const token = newSecret(ids);
    const csrf = newSecret(ids);
    await entities.insert(SessionTable, {
      id: hashOf(token),
      channelAppId,
      userId,
      csrfHash: hashOf(csrf),
      createdAt: now,
      expiresAt: new Date(now.getTime() + SESSION_SECONDS * 1_000),
    });
    return { returnTo: begun.returnTo, userId, bindingId, token, csrf };
  }

  /** What `end` does, uncounted. */
  async function arrive(platform: Platform, arrival: LoginArrival, note: Note): Promise<EndedLogin> {
    const { hashSecret } = configuration();
    const { code, state, browserSecret, signal } = arrival;
    if (code === undefined || code === '') throw ChannelErrors.loginDenied();
    const begun = await take(platform, state, browserSecret);
    const { tenantId, channelAppId } = begun;
    note({ id: '', tenantId, method: CHANNEL_SESSION });
    const app = await findApp(database, channelAppId, tenantId);
    if (app === undefined || !(await isOpen(app))) throw ChannelErrors.appNotFound();
    const { appKey } = app;
    const id = await providers.identify(platform, { appKey, secret: await secretOf(app), code }, signal);
    const hash = userHash(hashSecret, { platform, appKey, id });
    const ended = await database
      .forTenant(tenantId)
      .transaction((entities) => admit(entities, begun, hash), RETRY_RACES);
    note({ id: ended.userId, tenantId, method: CHANNEL_SESSION });
    return ended;
  }

  return {
    /**
     * Makes a link for one login. Throws `channel.app-not-found`, `channel.app-disabled`, `channel.not-configured`,
     * `tenant.deleted`.
     */
    async makeLink(identity: Identity, appId: string): Promise<Link> {
      const app = await apps.get(identity, appId);
      const { publicUrl } = configuration();
      if (!app.enabled) throw ChannelErrors.appDisabled();
      await livingTenant(tenants, identity, app.tenantId);
      const challenge = newSecret(ids);
      const createdAt = new Date(clock.now());
      const expiresAt = new Date(createdAt.getTime() + LOGIN_SECONDS * 1_000);
      const { tenantId, id: channelAppId, platform, appKey } = app;
      const link = { id: hashOf(challenge), channelAppId, createdAt, expiresAt };
      await database.forTenant(tenantId).insert(LinkTable, link);
      const query = new URLSearchParams({ app_key: appKey, challenge });
      return { url: `${publicUrl}${startPath(platform)}?${query}`, challenge, expiresAt };
    },

    /**
     * Uses a link up and begins a login. Throws `channel.platform-not-found`, `channel.not-configured`,
     * `channel.app-not-found` (also for one that is disabled, or whose tenant is gone), `channel.link-invalid`.
     */
    async begin(
      name: string,
      { appKey, challenge, returnTo }: { appKey: string; challenge: string; returnTo: string | undefined },
    ): Promise<BegunLogin> {
      const platform = platformOf(name);
      const { publicUrl } = configuration();
      const app = await findAppByKey(database, platform, appKey);
      if (app === undefined || !(await isOpen(app))) throw ChannelErrors.appNotFound();
      const now = new Date(clock.now());
      const entities = database.forTenant(app.tenantId);
      const wanted = { id: hashOf(challenge), channelAppId: app.id };
      const link = isSecret(challenge) ? await findLink(entities, wanted, now) : undefined;
      if (link === undefined) throw ChannelErrors.linkInvalid();
      const state = newSecret(ids);
      const browserSecret = newSecret(ids);
      const isBegun = await beginLogin(entities, link, {
        id: hashOf(state),
        tenantId: app.tenantId,
        channelAppId: app.id,
        platform,
        browserHash: hashOf(browserSecret),
        returnTo: returnPath(returnTo, homeOf(publicUrl)),
        linkCreatedAt: link.createdAt,
        expiresAt: new Date(now.getTime() + LOGIN_SECONDS * 1_000),
      });
      if (!isBegun) throw ChannelErrors.linkInvalid();
      const redirectUri = `${publicUrl}${callbackPath(platform)}`;
      return {
        location: providers.authorizeUrl(platform, { appKey, redirectUri, state }),
        state,
        browserSecret,
      };
    },

    /**
     * Completes a login: asks the provider who the user is, and makes the session. Throws `channel.platform-not-found`,
     * `channel.not-configured`, `channel.login-denied`, `channel.state-invalid`, `channel.app-not-found`,
     * `channel.secret-unavailable`, `channel.binding-revoked`, and what `Provider.identify` throws. After a failure
     * that follows the use of the state, the user needs another link.
     */
    async end(name: string, arrival: LoginArrival, note: Note): Promise<EndedLogin> {
      const platform = platformOf(name);
      try {
        const ended = await arrive(platform, arrival, note);
        counted(platform, 'success');
        return ended;
      } catch (error) {
        counted(platform, error instanceof GatewayError && REFUSALS.has(error.kind) ? 'refused' : 'failed');
        throw error;
      }
    },
  };
}

/** What a browser sends with the callback. */
export interface LoginArrival {
  /** Absent where the user has declined. */
  readonly code: string | undefined;
  readonly state: string;
  /** From the cookie of this login. */
  readonly browserSecret: string | undefined;
  readonly signal: AbortSignal;
}

const startPath = (platform: Platform) => `/auth/channel/${platform}/start`;
const callbackPath = (platform: Platform) => `/auth/channel/${platform}/callback`;

/** Kinds of error that say something about the caller. */
const REFUSALS: ReadonlySet<string> = new Set(['invalid', 'forbidden', 'not-found', 'client-closed']);

function platformOf(name: string): Platform {
  const platform = PLATFORMS.find((known) => known === name);
  if (platform === undefined) throw ChannelErrors.platformNotFound();
  return platform;
}
