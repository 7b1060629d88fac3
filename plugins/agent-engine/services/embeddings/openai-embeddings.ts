import type { Embeddings } from '../../contract.ts';
import { jsonIn } from '../json-text.ts';
import type { Circuit } from '../models/circuit.ts';
import { type Lifetime, shownBy, startLifetime } from '../models/deadlines.ts';
import { createHeaders, providerEndpoint } from '../models/openai-client.ts';
import {
  type ConnectionOptions,
  connectionRules,
  createProviderConnection,
} from '../models/provider-connection.ts';
import { malformed } from '../models/provider-errors.ts';
import { sentText, toUnit } from './hash-embeddings.ts';

/** Settings and collaborators of embeddings of a server. */
export interface OpenAIEmbeddingsOptions extends ConnectionOptions {
  /** The base URL to which `/embeddings` is appended. */
  readonly apiUrl: string;
  /** Sent as a bearer token; absent for servers that need none. */
  readonly apiKey?: string | undefined;
  readonly model: string;
  /** Size of the vectors to ask for; absent: the model's own, which also suits servers that know no such parameter. */
  readonly dimensions?: number | undefined;
  readonly circuit?: Circuit | undefined;
}

/** Texts in one request; OpenAI takes more, other servers do not. */
const BATCH = 128;
const CONNECTIONS = 64;
/** Milliseconds for one call: a search waits for it. */
const TOTAL_MS = 60_000;

/**
 * Embeddings of a server that speaks OpenAI's `/embeddings`. Without `dimensions` the size of the vectors is learnt
 * from the first answer: until then `id` ends in `:?` and equals no stored one. A server whose vectors change their
 * size while the gateway runs is a failure, since old and new ones cannot be compared. Disposing them breaks the calls
 * that are still in flight. Throws a TypeError for a URL or key that cannot work.
 * Source: https://platform.openai.com/docs/api-reference/embeddings
 */
export function createOpenAIEmbeddings(options: OpenAIEmbeddingsOptions): Embeddings & AsyncDisposable {
  const { model, dimensions, circuit, clock, ids } = options;
  const { origin, path } = providerEndpoint(options.apiUrl, '/embeddings');
  const headersFor = createHeaders(options.apiKey);
  const timeouts = { totalMs: TOTAL_MS, ...options.timeouts };
  const rules = connectionRules({ connections: CONNECTIONS, ...options, timeouts });
  const connection = createProviderConnection(origin, rules);
  let size = dimensions;

  async function embedBatch(texts: readonly string[], lifetime: Lifetime): Promise<readonly Float32Array[]> {
    const input = texts.map(sentText);
    const body = JSON.stringify({ model, input, encoding_format: 'float', dimensions });
    const headers = headersFor({ requestId: ids.opaque() });
    const response = await connection.send({ path, headers, body, lifetime, firstByteMs: undefined });
    const vectors = parseEmbeddings(await response.readAll(rules.answerBytes), texts.length);
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
        passage?.failed(shownBy(error, signal));
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

/**
 * The vectors of an answer of `/embeddings`, in the order of the texts, each of length 1. Floats and base64 are
 * understood. Throws `model.upstream` for an answer that has not exactly one vector for each text, or vectors of
 * different sizes.
 *
 * @param count how many texts were sent
 */
function parseEmbeddings(text: string, count: number): readonly Float32Array[] {
  const data = readData(text);
  if (data.length !== count) throw malformed('it has another number of vectors than there were texts');
  const vectors: (Float32Array | undefined)[] = new Array(count).fill(undefined);
  for (const [position, entry] of data.entries()) {
    const { index = position, embedding } = (entry ?? {}) as { index?: unknown; embedding?: unknown };
    if (
      !Number.isInteger(index) ||
      !((index as number) in vectors) ||
      vectors[index as number] !== undefined
    ) {
      throw malformed('its vectors are not numbered by their texts');
    }
    vectors[index as number] = readVector(embedding);
  }
  const whole = vectors as Float32Array[];
  if (whole.some(({ length }) => length !== whole[0]!.length)) throw malformed('its vectors differ in size');
  return whole;
}

function readData(text: string): readonly unknown[] {
  const value = jsonIn(text);
  if (value === undefined) throw malformed('it is not JSON');
  const data = (value as { data?: unknown } | null)?.data;
  if (!Array.isArray(data)) throw malformed('it has no vectors');
  return data;
}

function readVector(embedding: unknown): Float32Array {
  const vector = typeof embedding === 'string' ? floatsOf(embedding) : embedding;
  const isVector = Array.isArray(vector) || vector instanceof Float32Array;
  if (!isVector || vector.length === 0 || !vector.every((value) => Number.isFinite(value))) {
    throw malformed('a vector is none');
  }
  return toUnit(vector);
}

/** The 32-bit floats in base64, little-endian. */
function floatsOf(base64: string): Float32Array {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length % 4 !== 0) throw malformed('a vector is cut off');
  return Float32Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
}
