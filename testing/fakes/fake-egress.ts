import { Readable } from 'node:stream';
import { createFetch } from '../../foundation/egress/client.ts';
import type { Egress, EgressRequest } from '../../foundation/egress/egress.ts';
import { EgressErrors } from '../../foundation/egress/errors.ts';

/** An answer of a fake server. */
export interface FakeAnswer {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: string | object;
}

/** A request that was sent. */
export interface SentRequest {
  readonly tenantId: string;
  readonly method: string;
  readonly url: string;
  readonly request: EgressRequest;
}

/** Egress that makes no connection. */
export interface FakeEgress extends Egress {
  /** What was sent, in order. */
  readonly sent: readonly SentRequest[];
}

/**
 * Egress for tests: `answer` plays the world outside, and `undefined` from it is an address that egress denies. There
 * are no rules in it.
 *
 * @example
 * const egress = fakeEgress(({ url }) => (url.startsWith('https://api.example.com/') ? { body: {} } : undefined));
 * const gateway = await startTestGateway({ plugins: [weather], services: { egress } });
 */
export function fakeEgress(answer: (request: SentRequest) => FakeAnswer | undefined): FakeEgress {
  const sent: SentRequest[] = [];
  const request: Egress['request'] = async (tenantId, given) => {
    given.signal?.throwIfAborted();
    const one = { tenantId, method: given.method ?? 'GET', url: new URL(given.url).href, request: given };
    sent.push(one);
    const answered = answer(one);
    if (answered === undefined) throw EgressErrors.denied();
    const { status = 200, headers = {}, body = '' } = answered;
    const isJson = typeof body === 'object';
    return {
      status,
      statusText: '',
      headers: { ...(isJson ? { 'content-type': 'application/json' } : {}), ...headers },
      body: Readable.from([Buffer.from(isJson ? JSON.stringify(body) : body)]),
      url: one.url,
      redirected: false,
    };
  };
  const none = () => Promise.reject(new Error('the fake egress has no rules'));
  return {
    sent,
    request,
    fetchFor: (tenantId, context = {}) => createFetch((given) => request(tenantId, given), context),
    async check(tenantId, url) {
      const one = { tenantId, method: 'GET', url: new URL(url).href, request: { url } };
      if (answer(one) === undefined) throw EgressErrors.denied();
    },
    rules: { list: none, create: none, delete: none },
    close: async () => {},
  };
}
