import { type Clock, DEFAULT_TENANT_ID, type Egress, type EgressResponse, type Ids } from 'agent-gateway';
import { signRequest } from '../rules/envelope.ts';
import type { SigningKey } from './keys.ts';

/** A request of the hub to a node or a subscriber. */
export interface HubRequest {
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly body?: string;
  readonly key: SigningKey;
  /** The account under which egress counts it, so that receivers that hang take no places of others. */
  readonly account: string;
  /** Milliseconds for the whole answer, and its bytes at most. */
  readonly timeout: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/**
 * Sends signed requests through egress, by the rules of the default tenant. Follows no redirect: a signed request is
 * meant for its receiver alone.
 */
export type SendSigned = (request: HubRequest) => Promise<EgressResponse>;

export function createSendSigned(parts: {
  readonly egress: Pick<Egress, 'request'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Pick<Ids, 'bytes'>;
  readonly version: string;
}): SendSigned {
  const { egress, clock, ids, version } = parts;
  return ({ url, method, body = '', key, account, timeout, maxBytes, signal }) => {
    const signed = { method, target: `${url.pathname}${url.search}`, body: Buffer.from(body) };
    const nonce = ids.bytes(16).toString('hex');
    const envelope = signRequest(signed, { signer: key.id, key: key.key, nonce, now: clock.now() });
    return egress.request(DEFAULT_TENANT_ID, {
      url,
      method,
      redirect: 'manual',
      account,
      timeout,
      maxBytes,
      signal,
      headers: {
        accept: 'application/json',
        'user-agent': `agent-gateway/${version}`,
        ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
        ...envelope,
      },
      ...(method === 'POST' ? { body } : {}),
    });
  };
}
