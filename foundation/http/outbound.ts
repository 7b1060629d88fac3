import type { Dispatcher } from 'undici';
import { lazy } from '../base/lazy.ts';
import { processEnvironment } from '../config/read-config.ts';

/** Connections to servers that the operator named. */
export interface OutboundOptions {
  /** The one server of all calls; default: each call names its own. */
  readonly origin?: string;
  /** Connections to each server. */
  readonly connections: number;
  /** Milliseconds in which a connection has to be there. */
  readonly connectMs: number;
}

/**
 * Opens pools of connections to servers that the operator named; undici is loaded with the first call, and again by the
 * next one where that failed, in a process without a free file descriptor for example. Answers have no deadlines here.
 * With `NODE_USE_ENV_PROXY=1`, by which Node's own `fetch` goes, connections lead through the proxies of `HTTPS_PROXY`
 * and `HTTP_PROXY`, but for the hosts in `NO_PROXY`.
 *
 * What a tenant or a model chose as an address goes through egress, which has to see where it leads.
 */
export function outbound(options: OutboundOptions): {
  connect(): Promise<Dispatcher>;
  destroy(): Promise<void>;
} {
  const pools = lazy(() => open(options));
  return { connect: pools.get, destroy: async () => (await pools.begun)?.destroy() };
}

/**
 * The whole body of an answer.
 *
 * @param what is named by the error: `the answer of the hub`
 * @throws Error for a body of more than `most` bytes, whose connection is closed then; and what reading it throws
 */
export async function readAnswer(
  body: AsyncIterable<Uint8Array> | null,
  most: number,
  what: string,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes > most) throw new Error(`${what} is longer than ${most} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

async function open({ origin, connections, connectMs }: OutboundOptions): Promise<Dispatcher> {
  const { Agent, EnvHttpProxyAgent, Pool } = await import('undici');
  const options = {
    connections,
    pipelining: 1,
    allowH2: false,
    connect: { timeout: connectMs },
    keepAliveTimeout: 30_000,
    // undici's own timers also run while a slow client holds a stream back; the deadlines of the callers do not.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  if (processEnvironment().NODE_USE_ENV_PROXY === '1') {
    // Without a tunnel undici has one connection for all calls to servers without TLS.
    return new EnvHttpProxyAgent({ ...options, connectTimeout: connectMs, proxyTunnel: true });
  }
  return origin === undefined ? new Agent(options) : new Pool(origin, options);
}
