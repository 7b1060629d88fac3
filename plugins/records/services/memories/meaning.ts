import {
  type Clock,
  DeadlineError,
  type Logger,
  startLifetime,
  type TenantEntityManager,
  throttledLog,
} from 'agent-gateway';
import type { Embeddings, Memory } from '../../contract.ts';
import { MemoryEntity, type StoredMemory } from '../../store/memories.ts';
import { type Candidate, fittest, textOf, toBytes, toVector } from './rank.ts';

/** Milliseconds that a search waits for the embeddings. */
const DEADLINE_MS = 5000;
const late = () => new DeadlineError(`the embeddings did not come within ${DEADLINE_MS / 1000} s`);
/**
 * Memories that one search makes vectors of, those first that share most words with the query; the next searches make
 * vectors of the others, which until then are found by their words.
 */
const MAX_NEW = 64;
/** Characters of a text that go into its vector: providers refuse longer ones. */
const MAX_TEXT = 4000;

/** The vectors of a query and of the memories, as far as there are any. */
export interface Meaning {
  readonly vector: Float32Array | undefined;
  readonly candidates: readonly Candidate[];
}

/** Makes the function that finds the vectors for a search. It never fails: without embeddings there are no vectors. */
export function createMeaning(parts: {
  /** The embeddings that are contributed now. */
  readonly embeddings: () => Embeddings | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}) {
  const { clock, log } = parts;
  const warnOfEmbeddings = throttledLog<unknown>(clock, (err) =>
    log.warn({ err }, 'the embeddings do not answer: memories are searched by words'),
  );
  const warnOfVectors = throttledLog<unknown>(clock, (err) =>
    log.warn({ err }, 'vectors of memories could not be kept'),
  );

  async function embed(
    embeddings: Embeddings,
    tenantId: string,
    texts: readonly string[],
  ): Promise<readonly Float32Array[]> {
    if (texts.length === 0) return [];
    using life = startLifetime(undefined, DEADLINE_MS, late);
    try {
      return await embeddings.embed(
        texts.map((text) => text.slice(0, MAX_TEXT).toWellFormed()),
        life.signal,
        tenantId,
      );
    } catch (error) {
      warnOfEmbeddings(error);
      return [];
    }
  }

  async function keep(
    entities: TenantEntityManager,
    embeddingId: string,
    made: ReadonlyMap<Memory, Float32Array>,
  ): Promise<void> {
    if (made.size === 0) return;
    try {
      await entities.transaction(async (unit) => {
        for (const [memory, vector] of made) {
          // Only if the memory still has the same text.
          const where = { id: memory.id, value: JSON.stringify(memory.value) };
          await unit.update(MemoryEntity, where, { embedding: toBytes(vector), embeddingId });
        }
      });
    } catch (err) {
      warnOfVectors(err);
    }
  }

  /** Makes the vectors that are missing or of other embeddings, a bounded number, and keeps them. */
  return async function meaning(
    entities: TenantEntityManager,
    query: string,
    stored: readonly StoredMemory[],
  ): Promise<Meaning> {
    const embeddings = parts.embeddings();
    if (embeddings === undefined) {
      return { vector: undefined, candidates: stored.map(({ memory }) => ({ memory, vector: undefined })) };
    }
    const missing = stored.filter(({ embeddingId }) => embeddingId !== embeddings.id);
    // Words alone bring half of what words and a vector bring: the memory that was asked for would rank behind any that
    // have one.
    const fresh = missing.length > MAX_NEW ? await fittest(missing, query, MAX_NEW) : missing;
    const [[vector], vectors] = await Promise.all([
      embed(embeddings, entities.tenantId, [query]),
      embed(
        embeddings,
        entities.tenantId,
        fresh.map(({ memory }) => textOf(memory)),
      ),
    ]);
    const made = new Map<Memory, Float32Array>();
    for (const [index, each] of vectors.entries()) {
      const memory = fresh[index]?.memory;
      if (memory !== undefined) made.set(memory, each);
    }
    await keep(entities, embeddings.id, made);
    const candidates = stored.map(({ memory, embedding, embeddingId }) => {
      const isCurrent = embeddingId === embeddings.id && embedding !== undefined;
      return { memory, vector: made.get(memory) ?? (isCurrent ? toVector(embedding) : undefined) };
    });
    return { vector, candidates };
  };
}
