import {
  AuthErrors,
  access,
  DEFAULT_TENANT_ID,
  hasAnyScope,
  isOperator,
  type LimitedCall,
  type RouteCall,
  Type,
} from 'agent-gateway';
import type { SignedRequest } from '../rules/envelope.ts';
import { HUB_KEY, HUB_NODE, HUB_PEER, HUB_READ, HUB_WRITE } from '../services/credentials.ts';
import { HubErrors } from '../services/errors.ts';
import type { Hub } from '../services/open-hub.ts';
import type { Reach } from '../services/subscriptions.ts';

/** What routes need of the hub. */
export interface Gate {
  readonly load: () => Promise<Hub>;
  /** Whether `HUB_API_KEYS` lists any: without them callers on the loopback interface register and subscribe. */
  readonly hasKeys: boolean;
}

/** Reads: hub keys, nodes, and the gateway's credentials; without any, callers on the loopback interface. */
export const readable = { access: access.open(['read', HUB_READ]) };
/** Registrations and subscriptions; of the callers that this rule admits, `ownerOf` decides which may. */
export const writable = { access: access.open(['write', HUB_WRITE]) };
/** What operators decide. */
export const operable = { access: access.governance(['ops:*'], { operator: true }) };

/** The headers of an envelope. */
export const EnvelopeHeaders = Type.Object({
  'x-svc-node-id': Type.Optional(Type.String({ description: 'Id of the node that signs' })),
  'x-svc-timestamp': Type.Optional(Type.String({ description: 'Unix seconds' })),
  'x-svc-nonce': Type.Optional(Type.String({ description: 'Used once; 1 to 128 printable characters' })),
  'x-svc-signature': Type.Optional(Type.String({ description: 'Ed25519, in base64' })),
});

/** Calls of one caller in a minute, independent of the windows of tenants: nodes are many, and belong to no tenant. */
export const HUB_LIMIT = {
  perMinute: 1_200,
  // Nodes choose their ids, which may be the address or the id of another caller.
  by: ({ identity: { id, method }, address }: LimitedCall) =>
    method === 'anonymous' || method === 'rejected' ? address : `${method} ${id}`,
};

type AnyCall = Pick<RouteCall, 'identity' | 'source'>;

const LOOPBACK = 'loopback';

/**
 * The owner as whom a caller writes: that of a hub key, an operator, or, without hub keys, any loopback caller.
 * Undefined for callers that may only read.
 */
export function findOwner({ identity, source }: AnyCall, { hasKeys }: Gate): string | undefined {
  if (identity.method === HUB_KEY) return identity.id;
  if (isOperator(identity) && hasAnyScope(identity.scopes, ['ops:write']))
    return `operator ${identity.id}`.slice(0, 64);
  return identity.method === 'anonymous' && !hasKeys && source.isLoopback ? LOOPBACK : undefined;
}

/** The same for a caller that has to be one. @throws hub.key-required, auth.required */
export function ownerOf(call: AnyCall, gate: Gate): string {
  const owner = findOwner(call, gate);
  if (owner !== undefined) return owner;
  if (call.identity.method !== 'anonymous') throw HubErrors.keyRequired();
  throw AuthErrors.required('Send a key of the hub in the Authorization header', {
    headers: { 'www-authenticate': 'Bearer' },
  });
}

/** Whose subscriptions a caller reads, or, `toChange`, changes. Operators reach all of them, by their scopes. */
export function reachOf(call: AnyCall, gate: Gate, toChange = false): Reach {
  const { identity } = call;
  const scopes = toChange ? ['ops:write'] : ['ops:read', 'ops:write'];
  return isOperator(identity) && hasAnyScope(identity.scopes, scopes)
    ? 'all'
    : { owner: ownerOf(call, gate) };
}

/** A request as its envelope signs it. */
export function signedBy(
  method: string,
  { target, rawBody, headers }: Pick<RouteCall, 'target' | 'rawBody'> & { readonly headers: unknown },
): { readonly request: SignedRequest; readonly header: (name: string) => string | undefined } {
  return {
    request: { method, target, body: rawBody ?? Buffer.alloc(0) },
    header: (name) => {
      const value = (headers as Record<string, unknown>)[name];
      return typeof value === 'string' ? value : undefined;
    },
  };
}

/**
 * The node, or the hub, that has signed a call. Where the call was authenticated by another credential, the envelope is
 * verified here.
 */
export async function signerOf(
  kind: 'node' | 'hub',
  method: string,
  call: Pick<RouteCall, 'identity' | 'target' | 'rawBody'> & { readonly headers: unknown },
  { load }: Gate,
): Promise<string> {
  const { identity } = call;
  if (identity.tenantId === DEFAULT_TENANT_ID && identity.method === (kind === 'node' ? HUB_NODE : HUB_PEER))
    return identity.id;
  if (identity.method === HUB_NODE || identity.method === HUB_PEER) throw HubErrors.signerUnknown();
  const { request, header } = signedBy(method, call);
  const signer = await (await load()).envelopes.verify(request, header);
  if (signer.kind !== kind) throw HubErrors.signerUnknown();
  return signer.id;
}
