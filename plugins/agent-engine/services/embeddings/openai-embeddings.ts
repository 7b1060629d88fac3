import type { Clock, Ids } from 'agent-gateway';
import type { Embeddings } from '../../contract.ts';
import type { Circuit } from '../models/circuits.ts';
import { type Lifetime, startLifetime } from '../models/lifetime.ts';
import { createHeaders, providerEndpoint } from '../models/openai-request.ts';
import { createProviderConnection } from '../models/provider-connection.ts';
import { malformed } from '../models/provider-errors.ts';
import { createRedact } from '../models/redact.ts';
import { DEFAULT_RETRY, type RetrySettings } from '../models/retry.ts';
import { DEFAULT_TIMEOUTS, type Timeouts } from '../models/timeouts.ts';
import { parseEmbeddings } from './embedding-answer.ts';

/** Settings and collaborators of embeddings of a server. */
export interface OpenAIEmbeddingsOptions {
  /** The base URL to which `/embeddings` is appended. */
  readonly apiUrl: string;
  /** Sent as a bearer token; absent for servers that need none. */
  readonly apiKey?: string | undefined;
  readonly model: string;
  /** Size of the vectors to ask for; absent: the model's own, and servers are asked that know no choice. */
  readonly dimensions?: number | undefined;
  /** `totalMs` is 60,000 here: somebody waits for what is looked up. */
  readonly timeouts?: Partial<Timeouts>;
  readonly retry?: Partial<RetrySettings>;
  readonly circuit?: Circuit | undefined;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'bytes' | 'opaque'>;
  /** Called before each request; throws where no outbound call may be made (inside a database transaction). */
  readonly beforeCall?: () => void;
}

/** Embeddings of a server. Disposing them breaks the calls that are still in flight. */
export interface OpenAIEmbeddings extends Embeddings, AsyncDisposable {}

/** Texts in one request; OpenAI takes more, other servers do not. */
const BATCH = 128;
/** What is sent of a text, in characters: models take 8,191 tokens or so and refuse longer texts as a whole. */
const SENT_CHARS = 8000;
const LIMITS = { connections: 64, maxWaiting: 1024, errorBytes: 8 << 10 };
const ANSWER_BYTES = 32 << 20;
const TOTAL_MS = 60_000;

/**
 * Embeddings of a server that speaks OpenAI's `/embeddings`. Without `dimensions` the size of the vectors is learnt from the first
 * answer: until then `id` ends in `:?` and equals no stored one. A server whose vectors change their size while the gateway runs is a
 * failure, since old and new ones cannot be compared. Throws a TypeError for a URL or key that cannot work.
 * Source: https://platform.openai.com/docs/api-reference/embeddings
 */
export function createOpenAIEmbeddings(options: OpenAIEmbeddingsOptions): OpenAIEmbeddings {
  const { model, dimensions, circuit, clock, ids, beforeCall } = options;
  const { origin, path } = providerEndpoint(options.apiUrl, '/embeddings');
  const headersFor = createHeaders(options.apiKey);
  const timeouts = { ...DEFAULT_TIMEOUTS, totalMs: TOTAL_MS, ...options.timeouts };
  const retry = { ...DEFAULT_RETRY, ...options.retry };
  const redact = createRedact(options.apiKey === undefined ? [] : [options.apiKey]);
  const connection = createProviderConnection({
    ...{ origin, ...LIMITS, timeouts, retry, clock, ids, redact, beforeCall },
  });
  let size = dimensions;

  async function embedBatch(texts: readonly string[], lifetime: Lifetime): Promise<readonly Float32Array[]> {
    // Servers refuse empty texts.
    const input = texts.map((text) => text.slice(0, SENT_CHARS).toWellFormed().trim() || ' ');
    const body = JSON.stringify({ model, input, encoding_format: 'float', dimensions });
    const headers = headersFor({ requestId: ids.opaque() });
    const response = await connection.send({ path, headers, body, lifetime, firstByteMs: undefined });
    const text = await response.readAll(ANSWER_BYTES);
    if (text === undefined) throw malformed('it is too large');
    const vectors = parseEmbeddings(text, texts.length);
    const { length } = vectors[0]!;
    size ??= length;
    if (length !== size) throw malformed(`its vectors have ${length} dimensions, and not ${size}`);
    return vectors;
  }

  async function embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    using lifetime = startLifetime(signal, timeouts.totalMs, clock);
    const vectors: Float32Array[] = [];
    for (let start = 0; start < texts.length; start += BATCH) {
      lifetime.signal.throwIfAborted();
      const passage = circuit?.enter();
      try {
        vectors.push(...(await embedBatch(texts.slice(start, start + BATCH), lifetime)));
        passage?.answered();
      } catch (error) {
        passage?.failed(error);
        throw error;
      }
    }
    return vectors;
  }

  return {
    get id() {
      return `${model}:${size ?? '?'}`;
    },
    embed,
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  };
}
