import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, GatewayError, type Ids } from 'agent-gateway';
import type { Pool } from 'undici';
import { ModelErrors } from '../../contract.ts';
import { inSeconds, type Lifetime, type Timeouts } from './deadlines.ts';
import { HttpExchange, type ResponseHead } from './http-exchange.ts';
import { connectionFailure, type Redact, statusFailure } from './provider-errors.ts';
import {
  isRetryableFailure,
  isRetryableStatus,
  nextDelay,
  parseRetryAfter,
  type RetrySettings,
} from './retry.ts';

/** Settings and collaborators of a connection. */
interface ProviderConnectionOptions {
  /** `https://api.example.com`. */
  readonly origin: string;
  /** Connections to the provider, each of which carries one call at a time. */
  readonly connections: number;
  /** Calls that may wait for a connection. */
  readonly maxWaiting: number;
  readonly timeouts: Timeouts;
  readonly retry: RetrySettings;
  /** What is read of an error's body, in bytes. */
  readonly errorBytes: number;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'bytes'>;
  readonly redact: Redact;
  readonly beforeCall: (() => void) | undefined;
}

/** One call on a connection. */
interface ProviderCall {
  /** Default `POST`. */
  readonly method?: 'GET' | 'POST';
  /** Path and query. */
  readonly path: string;
  readonly headers: Record<string, string>;
  /** Sent again with each attempt. */
  readonly body: string | Uint8Array | null;
  readonly lifetime: Pick<Lifetime, 'signal' | 'remaining'>;
  /** Milliseconds until the head of the response has to be there; undefined leaves it to the lifetime. */
  readonly firstByteMs: number | undefined;
}

/** The pooled connections to one provider. Disposing it breaks the calls that are still in flight. */
export interface ProviderConnection extends AsyncDisposable {
  /** Sends a call, again where that helps, until a response begins with success. Throws errors of `ModelErrors`. */
  send(call: ProviderCall): Promise<ProviderResponse>;
}

interface Failure {
  readonly error: GatewayError;
  readonly isRetryable: boolean;
  readonly retryAfterMs?: number;
}

/** How long the body of an error may take: it only explains what is known already. */
const ERROR_BODY_MS = 5000;

/** Connects to one provider. Redirects are not followed: the credential is for this server alone. */
export function createProviderConnection(options: ProviderConnectionOptions): ProviderConnection {
  const { origin, timeouts, retry, clock, ids, redact } = options;
  let pool: Promise<Pool> | undefined;
  let open = 0;

  function start(connected: Pool, { method = 'POST', path, headers, body }: ProviderCall): HttpExchange {
    options.beforeCall?.();
    if (open >= options.connections + options.maxWaiting) {
      throw ModelErrors.overloaded(undefined, { headers: { 'retry-after': '1' } });
    }
    open += 1;
    return new HttpExchange(connected, { origin, path, method, headers, body }, () => {
      open -= 1;
    });
  }

  async function attempt(call: ProviderCall): Promise<ProviderResponse | Failure> {
    const { signal } = call.lifetime;
    pool ??= openPool(options);
    const connected = await pool;
    signal.throwIfAborted();
    const exchange = start(connected, call);
    signal.addEventListener('abort', () => exchange.cancel(signal.reason), { once: true });
    const firstByte = cancelAfter(exchange, call.firstByteMs);
    try {
      const head = await exchange.head;
      const response = new ProviderResponse(exchange, head, timeouts.idleMs, redact);
      return head.status < 300 ? response : await refused(response, signal);
    } catch (error) {
      return unanswered(error as Error, timeouts.connectMs, redact);
    } finally {
      clearTimeout(firstByte);
    }
  }

  async function refused(response: ProviderResponse, signal: AbortSignal): Promise<Failure> {
    const { head } = response;
    const body = await response.peek(options.errorBytes, ERROR_BODY_MS);
    signal.throwIfAborted();
    const retryAfterMs = parseRetryAfter(head.headers['retry-after'], clock.now());
    const isRetryable = isRetryableStatus(head.status) && head.headers['x-should-retry'] !== 'false';
    return { error: statusFailure(head, body, retryAfterMs, redact), isRetryable, retryAfterMs };
  }

  async function send(call: ProviderCall): Promise<ProviderResponse> {
    for (let attempts = 1; ; attempts += 1) {
      const outcome = await attempt(call);
      if (outcome instanceof ProviderResponse) return outcome;
      const random = ids.bytes(4).readUInt32BE(0) / 2 ** 32;
      const delay = outcome.isRetryable
        ? nextDelay(retry, attempts, outcome.retryAfterMs, random)
        : undefined;
      // Waiting beyond the deadline would turn a failure with a reason into a timeout.
      if (delay === undefined || delay >= call.lifetime.remaining()) throw outcome.error;
      await pauseUntil(delay, call.lifetime.signal);
    }
  }

  return { send, [Symbol.asyncDispose]: async () => (await pool)?.destroy() };
}

/** undici is loaded with the first call of all. */
async function openPool({ origin, connections, timeouts }: ProviderConnectionOptions): Promise<Pool> {
  const { Pool } = await import('undici');
  return new Pool(origin, {
    connections,
    pipelining: 1,
    allowH2: false,
    connect: { timeout: timeouts.connectMs },
    keepAliveTimeout: 30_000,
    // undici's own timers also run while a slow client holds the stream back; the deadlines here do not.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

function cancelAfter(exchange: HttpExchange, milliseconds: number | undefined): NodeJS.Timeout | undefined {
  if (milliseconds === undefined) return undefined;
  return setTimeout(() => {
    const detail = `The model provider did not begin to answer within ${inSeconds(milliseconds)}.`;
    exchange.cancel(ModelErrors.timeout(detail));
  }, milliseconds);
}

function unanswered(error: Error & { code?: string }, connectMs: number, redact: Redact): Failure {
  if (error instanceof GatewayError) return { error, isRetryable: false };
  const failure =
    error.code === 'UND_ERR_CONNECT_TIMEOUT'
      ? ModelErrors.timeout(`The model provider could not be reached within ${inSeconds(connectMs)}.`)
      : connectionFailure(error, false, redact);
  return { error: failure, isRetryable: isRetryableFailure(error.code) };
}

async function pauseUntil(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await pause(milliseconds, undefined, { signal });
  } catch {
    throw signal.reason;
  }
}

/** The response of a provider, its body read under the idle deadline. Reading throws errors of `ModelErrors`. */
export class ProviderResponse {
  readonly head: ResponseHead;
  readonly #exchange: HttpExchange;
  readonly #idleMs: number;
  readonly #redact: Redact;

  constructor(exchange: HttpExchange, head: ResponseHead, idleMs: number, redact: Redact) {
    this.head = head;
    this.#exchange = exchange;
    this.#idleMs = idleMs;
    this.#redact = redact;
  }

  /** The next bytes of the body, undefined at its end. */
  async read(idleMs = this.#idleMs): Promise<Buffer | undefined> {
    let idle: NodeJS.Timeout | undefined;
    if (!this.#exchange.hasData) {
      idle = setTimeout(() => this.cancel(silence(idleMs)), idleMs);
    }
    try {
      return await this.#exchange.read();
    } catch (error) {
      throw error instanceof GatewayError ? error : connectionFailure(error as Error, true, this.#redact);
    } finally {
      clearTimeout(idle);
    }
  }

  /** The whole body, undefined (and the connection closed) when it is longer than `maxBytes`. */
  async readAll(maxBytes: number): Promise<string | undefined> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for (let chunk = await this.read(); chunk !== undefined; chunk = await this.read()) {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        this.cancel();
        return undefined;
      }
      chunks.push(chunk);
    }
    return Buffer.concat(chunks, bytes).toString('utf8');
  }

  /** The beginning of the body, as much of it as arrives in time; afterwards the response is over. Never throws. */
  async peek(maxBytes: number, idleMs: number): Promise<string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      while (bytes < maxBytes) {
        const chunk = await this.read(idleMs);
        if (chunk === undefined) break;
        chunks.push(chunk);
        bytes += chunk.length;
      }
    } catch {
      // What has arrived before the connection broke is all that there is to tell.
    }
    this.cancel();
    return Buffer.concat(chunks, bytes).toString('utf8', 0, Math.min(bytes, maxBytes));
  }

  /** Lets go of a body that is over but for its ending, so that the connection can serve again. */
  finish(): void {
    this.#exchange.finish();
  }

  /** Closes the connection, unless the body has ended. */
  cancel(reason: Error = ModelErrors.aborted()): void {
    this.#exchange.cancel(reason);
  }
}

function silence(idleMs: number): GatewayError {
  return ModelErrors.timeout(`The model provider sent nothing for ${inSeconds(idleMs)} while answering.`);
}
