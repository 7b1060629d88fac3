import { createHash, timingSafeEqual } from 'node:crypto';
import {
  type Authenticator,
  type BodyAuthenticator,
  ConfigurationError,
  DEFAULT_TENANT_ID,
  GatewayError,
  type Identity,
} from 'agent-gateway';
import { ENVELOPE } from '../contract.ts';
import type { Envelopes } from './envelopes.ts';
import { HubErrors } from './errors.ts';

/** The credentials of callers of the hub. Their scopes are the hub's own and allow nothing elsewhere in the gateway. */
export const HUB_KEY = 'hub_key';
export const HUB_NODE = 'hub_node';
export const HUB_PEER = 'hub_peer';
export const HUB_READ = 'hub:read';
export const HUB_WRITE = 'hub:write';

const MIN_KEY = 16;
const MAX_KEYS = 1_000;

/** The owner of a key, derived from it: it does not reveal the key. */
function ownerOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** The bearer keys of `HUB_API_KEYS`. Throws a ConfigurationError for keys that are too short, or too many. */
export function hubKeys(keys: readonly string[]): Authenticator {
  if (keys.length > MAX_KEYS || keys.some((key) => key.length < MIN_KEY))
    throw new ConfigurationError([
      {
        name: 'HUB_API_KEYS',
        message: `must be up to ${MAX_KEYS} keys of ${MIN_KEY} characters or more each`,
      },
    ]);
  const owners = keys.map((key) => ({ id: ownerOf(key), digest: digestOf(key) }));
  return {
    name: 'hub-key',
    authenticate({ bearer }) {
      if (bearer === undefined || owners.length === 0) return undefined;
      const digest = digestOf(bearer);
      // Compares with all keys, so that the time does not reveal which one matched.
      const found = owners.filter((owner) => timingSafeEqual(owner.digest, digest))[0];
      return found === undefined
        ? undefined
        : { identity: callerOf(found.id, HUB_KEY, [HUB_READ, HUB_WRITE]) };
    },
  };
}

const digestOf = (key: string) => createHash('sha256').update(`hub\n${key}`).digest();

function callerOf(id: string, method: string, scopes: readonly string[]): Identity {
  const identity = { id, tenantId: DEFAULT_TENANT_ID, roles: [], scopes: new Set(scopes), method };
  // Callers of the hub are others: they must not use up the calls of the operator.
  return { ...identity, countsApart: true };
}

/** Registrations may carry an envelope in addition to their key: the route checks both. */
const REGISTRATION = '/api/v1/nodes';

/**
 * Authenticates envelopes on the routes of the hub. They are verified on the received bytes, before the body is parsed.
 */
export function hubEnvelopes(load: () => Promise<Pick<Envelopes, 'verify'>>): BodyAuthenticator {
  return {
    name: 'hub-envelope',
    needsBody: true,
    places: Object.values(ENVELOPE).map((name) => ({ in: 'header', name })),
    async authenticate({ method, path, target, body, header }) {
      if (!path.startsWith('/api/v1/') || (path === REGISTRATION && method === 'POST')) return undefined;
      try {
        const { verify } = await load();
        const { id, kind } = await verify({ method, target, body }, header);
        return { identity: callerOf(id, kind === 'node' ? HUB_NODE : HUB_PEER, [HUB_READ]) };
      } catch (error) {
        if (!(error instanceof GatewayError) || error.kind !== 'unauthenticated') throw error;
        // For a read, an unknown signer is treated like a caller without an envelope: another credential may still
        // admit the call.
        if (method === 'GET' && HubErrors.signerUnknown.is(error)) return undefined;
        return { failure: 'invalid', error };
      }
    },
  };
}
