import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, GatewayError, type Ids, outbound, parseRetryAfter } from 'agent-gateway';
import type { Dispatcher } from 'undici';
import { type ModelClient, ModelErrors } from '../../contract.ts';
import { DEFAULT_TIMEOUTS, inSeconds, type Lifetime, type Timeouts } from './deadlines.ts';
import { HttpExchange, type ResponseHead } from './http-exchange.ts';
import { connectionFailure, createRedact, malformed, type Redact, statusFailure } from './provider-errors.ts';
import {
  DEFAULT_RETRY,
  nextDelay,
  RETRYABLE_CODES,
  RETRYABLE_STATUSES,
  type RetrySettings,
} from './retry.ts';

/** What every client of a provider is made with. What is absent has its default. */
export interface ConnectionOptions {
  /** What must never be seen in an error or a log. */
  readonly apiKey?: string | undefined;
  /** Connections to each server, each of which carries one call at a time. Default 1,024. */
  readonly connections?: number;
  /** Calls that may wait for a connection; more fail with `model.overloaded`. Default 1,024. */
  readonly maxWaiting?: number;
  /** What one answer may hold, in bytes, streamed through an AI SDK or not at all streamed. Default 32 MiB. */
  readonly answerBytes?: number;
  /** What is read of an error's body, in bytes. Default 8 KiB. */
  readonly errorBytes?: number;
  readonly timeouts?: Partial<Timeouts>;
  readonly retry?: Partial<RetrySettings>;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'bytes' | 'opaque'>;
  /** Called before each request; throws where no outbound call may be made (inside a database transaction). */
  readonly beforeCall?: () => void;
}

/** A client with pools of connections of its own. Disposing it breaks the calls that are still in flight. */
export interface ProviderClient extends ModelClient, AsyncDisposable {}

/** The options with their defaults, and what takes the key out of texts. */
export type ConnectionRules = ReturnType<typeof connectionRules>;

/** Fills in the defaults. */
export function connectionRules({ apiKey, timeouts, retry, ...options }: ConnectionOptions) {
  return {
    connections: 1024,
    maxWaiting: 1024,
    answerBytes: 32 << 20,
    errorBytes: 8 << 10,
    ...options,
    timeouts: { ...DEFAULT_TIMEOUTS, ...timeouts },
    retry: { ...DEFAULT_RETRY, ...retry },
    redact: createRedact(apiKey),
  };
}

/** One call on a connection. */
export interface ProviderCall {
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

interface Failure {
  readonly error: GatewayError;
  readonly isRetryable: boolean;
  readonly retryAfterMs?: number;
}

/** How long the body of an error may take: it only explains what is known already. */
const ERROR_BODY_MS = 5000;

/** The pooled connections to one provider. */
export type ProviderConnection = ReturnType<typeof createProviderConnection>;

/**
 * Connects to one provider. Disposing it breaks the calls that are still in flight. Redirects are not followed: the
 * credential is for this server alone.
 *
 * @param origin `https://api.example.com`
 */
export function createProviderConnection(origin: string, rules: ConnectionRules) {
  const { timeouts, retry, clock, ids, redact } = rules;
  const pool = outbound({ origin, connections: rules.connections, connectMs: timeouts.connectMs });
  let open = 0;

  function start(
    connected: Dispatcher,
    { method = 'POST', path, headers, body }: ProviderCall,
  ): HttpExchange {
    rules.beforeCall?.();
    if (open >= rules.connections + rules.maxWaiting) {
      throw ModelErrors.overloaded(undefined, { headers: { 'retry-after': '1' } });
    }
    open += 1;
    return new HttpExchange(connected, { origin, path, method, headers, body }, () => {
      open -= 1;
    });
  }

  async function attempt(call: ProviderCall): Promise<ProviderResponse | Failure> {
    const { signal } = call.lifetime;
    const connected = await pool.connect();
    signal.throwIfAborted();
    const exchange = start(connected, call);
    signal.addEventListener('abort', () => exchange.cancel(signal.reason), { once: true });
    const firstByte = cancelAfter(exchange, call.firstByteMs);
    try {
      const head = await exchange.head;
      const response = toResponse(exchange, head, timeouts.idleMs, redact);
      return head.status < 300 ? response : await refused(response, signal);
    } catch (error) {
      return unanswered(error as Error, timeouts.connectMs, redact);
    } finally {
      clearTimeout(firstByte);
    }
  }

  async function refused(response: ProviderResponse, signal: AbortSignal): Promise<Failure> {
    const { head } = response;
    const body = await response.peek(rules.errorBytes, ERROR_BODY_MS);
    signal.throwIfAborted();
    const retryAfterMs = parseRetryAfter(head.headers['retry-after'], clock.now());
    const error = statusFailure(head, body, retryAfterMs, redact);
    const isRetryable =
      RETRYABLE_STATUSES.has(head.status) &&
      head.headers['x-should-retry'] !== 'false' &&
      !ModelErrors.insufficientQuota.is(error);
    return { error, isRetryable, retryAfterMs };
  }

  /**
   * Sends a call, with retries where they help, until a response begins with success. Throws errors of `ModelErrors`.
   */
  async function send(call: ProviderCall): Promise<ProviderResponse> {
    for (let attempts = 1; ; attempts += 1) {
      const outcome = await attempt(call);
      if (!('error' in outcome)) return outcome;
      const random = ids.bytes(4).readUInt32BE(0) / 2 ** 32;
      const delay = outcome.isRetryable
        ? nextDelay(retry, attempts, outcome.retryAfterMs, random)
        : undefined;
      // Waiting beyond the deadline would turn a failure with a reason into a timeout.
      if (delay === undefined || delay >= call.lifetime.remaining()) throw outcome.error;
      await pauseUntil(delay, call.lifetime.signal);
    }
  }

  return { send, [Symbol.asyncDispose]: pool.destroy };
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
  return { error: failure, isRetryable: RETRYABLE_CODES.has(error.code ?? '') };
}

async function pauseUntil(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await pause(milliseconds, undefined, { signal });
  } catch {
    throw signal.reason;
  }
}

/** The response of a provider, its body read under the idle deadline. Reading throws errors of `ModelErrors`. */
export type ProviderResponse = ReturnType<typeof toResponse>;

function toResponse(exchange: HttpExchange, head: ResponseHead, idleMs: number, redact: Redact) {
  /** Closes the connection, unless the body has ended. */
  function cancel(reason: Error = ModelErrors.aborted()): void {
    exchange.cancel(reason);
  }

  /** The next bytes of the body, undefined at its end. */
  async function read(mostMs = idleMs): Promise<Buffer | undefined> {
    const giveUp = () =>
      cancel(
        ModelErrors.timeout(`The model provider sent nothing for ${inSeconds(mostMs)} while answering.`),
      );
    const idle = exchange.isReady ? undefined : setTimeout(giveUp, mostMs);
    try {
      return await exchange.read();
    } catch (error) {
      throw error instanceof GatewayError ? error : connectionFailure(error as Error, true, redact);
    } finally {
      clearTimeout(idle);
    }
  }

  /**
   * The whole body, after `first`, which was read of it before. Throws `model.upstream` (and closes the connection)
   * when it is longer than `maxBytes`.
   */
  async function readAll(maxBytes: number, first?: Buffer): Promise<string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for (let chunk = first ?? (await read()); chunk !== undefined; chunk = await read()) {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        cancel();
        throw malformed('it is too large');
      }
      chunks.push(chunk);
    }
    return Buffer.concat(chunks, bytes).toString('utf8');
  }

  /** The beginning of the body, as much of it as arrives in time; afterwards the response is over. Never throws. */
  async function peek(maxBytes: number, mostMs: number): Promise<string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      while (bytes < maxBytes) {
        const chunk = await read(mostMs);
        if (chunk === undefined) break;
        chunks.push(chunk);
        bytes += chunk.length;
      }
    } catch {
      // The bytes that arrived before the connection broke are all there is.
    }
    cancel();
    return Buffer.concat(chunks, bytes).toString('utf8', 0, Math.min(bytes, maxBytes));
  }

  /** Releases a body whose content is complete, so that the connection can serve again. */
  const finish = () => exchange.finish();
  return { head, read, readAll, peek, finish, cancel };
}
