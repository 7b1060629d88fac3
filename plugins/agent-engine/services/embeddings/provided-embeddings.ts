import { type Clock, type Logger, lacksOffer, offerNamed, orAborted, within } from 'agent-gateway';
import {
  type Embedder,
  type EmbedderClient,
  type EmbedderSettings,
  type Embeddings,
  ModelErrors,
} from '../../contract.ts';
import type { Circuit } from '../models/circuit.ts';
import { shownBy, startLifetime } from '../models/deadlines.ts';
import { providedFailure } from '../models/provided-failure.ts';
import { sentText, toUnit } from './hash-embeddings.ts';

/** What the embeddings of a plugin are made of. */
export interface ProvidedEmbeddingsParts {
  /** `EMBEDDING_PROVIDER`. */
  readonly name: string;
  /** The embedders that plugins contribute now. */
  readonly embedders: () => readonly Embedder[];
  readonly settings: Omit<EmbedderSettings, 'log'>;
  readonly circuit: Circuit | undefined;
  readonly beforeCall: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  /** Milliseconds of a call; default a minute, as with a server. */
  readonly totalMs?: number;
}

const TOTAL_MS = 60_000;
const BATCH = 128;
const MAX_BATCH = 1024;
const MAX_DIMENSIONS = 8192;
/** With the embedder's name and the size it has to fit where ids of embeddings are stored. */
const CLIENT_ID = /^[A-Za-z0-9._:/-]{1,64}$/;

interface Connected {
  readonly embedder: Embedder;
  readonly client: Promise<EmbedderClient>;
}

/**
 * Embeddings of a plugin, which may come and go: the embedder is looked up at each call, and held to the promises of
 * `Embeddings`. Throws `model.provider-missing` while no plugin offers it. Until it was connected `id` ends in `:?` and
 * equals no stored one.
 */
export function createProvidedEmbeddings(parts: ProvidedEmbeddingsParts): Embeddings {
  const { name, embedders, settings, circuit, beforeCall, clock, log, totalMs = TOTAL_MS } = parts;
  let connected: Connected | undefined;
  let id = `${name}:?`;

  function connect(): Connected {
    const offers = embedders();
    const embedder = offerNamed(name, offers);
    if (embedder === undefined)
      throw ModelErrors.providerMissing(lacksOffer('EMBEDDING_PROVIDER', name, offers));
    if (connected?.embedder === embedder) return connected;
    const client = within(totalMs, 'the embedder', open(embedder));
    const connecting: Connected = { embedder, client };
    connected = connecting;
    client.then(
      (ready) => {
        if (connected === connecting) id = `${name}/${ready.id}:${ready.dimensions}`;
      },
      () => {
        // The next call tries again.
        if (connected === connecting) connected = undefined;
      },
    );
    return connecting;
  }

  async function open(embedder: Embedder): Promise<EmbedderClient> {
    const client = await embedder.connect({ ...settings, log });
    checkClient(client, settings.dimensions);
    return client;
  }

  async function embed(
    texts: readonly string[],
    signal: AbortSignal,
    tenantId?: string,
  ): Promise<readonly Float32Array[]> {
    beforeCall();
    const now = connect();
    using life = startLifetime(signal, totalMs, clock);
    const passage = circuit?.enter();
    try {
      const client = await orAborted(now.client, life.signal);
      const vectors: Float32Array[] = [];
      const { batch = BATCH, dimensions } = client;
      for (let start = 0; start < texts.length; start += batch) {
        life.signal.throwIfAborted();
        const part = texts.slice(start, start + batch).map(sentText);
        const asked = Promise.resolve(client.embed(part, { tenantId, signal: life.signal }));
        vectors.push(...checkVectors(await orAborted(asked, life.signal), part.length, dimensions));
      }
      // A caller that stores the vectors reads `id` next: it has to be that of the embedder which made them.
      if (connected !== now) throw new Error('the embedder was exchanged while it was asked');
      passage?.answered();
      return vectors;
    } catch (error) {
      const failure = providedFailure(error, life.signal, name, log);
      passage?.failed(shownBy(failure, signal));
      throw failure;
    }
  }

  return {
    get id() {
      return id;
    },
    embed,
  };
}

/** Throws for a client that breaks its promises. */
function checkClient(client: EmbedderClient, wanted: number | undefined): void {
  const { id, dimensions, batch = BATCH } = client;
  if (typeof id !== 'string' || !CLIENT_ID.test(id)) throw new Error('the id of the embedder is none');
  if (!isWhole(dimensions, MAX_DIMENSIONS))
    throw new Error(`the embedder states no dimensions from 1 to ${MAX_DIMENSIONS}`);
  if (!isWhole(batch, MAX_BATCH)) throw new Error(`the batch of the embedder is not 1 to ${MAX_BATCH}`);
  if (wanted !== undefined && wanted !== dimensions)
    throw new Error(`the embedder has ${dimensions} dimensions, and EMBEDDING_DIMENSIONS is ${wanted}`);
}

function isWhole(value: number, most: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= most;
}

/** The vectors with length 1. Throws for anything but one of the right size for each text. */
function checkVectors(
  vectors: readonly ArrayLike<number>[],
  count: number,
  dimensions: number,
): readonly Float32Array[] {
  if (!Array.isArray(vectors) || vectors.length !== count)
    throw new Error('there is not one vector for each text');
  return vectors.map((vector: ArrayLike<number> | undefined) => {
    if (vector?.length !== dimensions) throw new Error(`a vector has not ${dimensions} dimensions`);
    const unit = toUnit(vector);
    if (!unit.every(Number.isFinite)) throw new Error('a vector holds what is no finite number');
    return unit;
  });
}
