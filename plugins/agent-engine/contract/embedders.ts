import { extensionPoint, type Logger } from 'agent-gateway';

/** What the settings of the deployment say to the embedder of a plugin. */
export interface EmbedderSettings {
  /** `EMBEDDING_MODEL`. */
  readonly model: string | undefined;
  /** `EMBEDDING_API_URL`. */
  readonly baseUrl: string | undefined;
  /** `EMBEDDING_API_KEY`. */
  readonly apiKey: string | undefined;
  /** `EMBEDDING_DIMENSIONS`. Another size of vectors than this is refused. */
  readonly dimensions: number | undefined;
  readonly log: Logger;
}

/** What a call is made for. */
export interface EmbeddingCall {
  /** Whose texts they are; undefined where the caller does not say. */
  readonly tenantId: string | undefined;
  /** Aborts when the caller gives up, or after a minute. */
  readonly signal: AbortSignal;
}

/** Makes vectors of texts. */
export interface EmbedderClient {
  /**
   * Identifies the kind of vectors, with 1 to 64 letters, digits, `.`, `_`, `-`, `:` and `/`. Another `id` means that
   * stored vectors are not compared with new ones, but recomputed bit by bit, as after a change of the model: change it
   * whenever the same text gets another vector.
   */
  readonly id: string;
  /** Numbers in each vector, 1 to 8192. */
  readonly dimensions: number;
  /** Texts of one call at most, 1 to 1024; default 128. */
  readonly batch?: number;
  /**
   * One vector for each text, in order. Texts have 1 to 8,000 characters. The engine makes the length of the vectors 1,
   * and refuses what is not a vector of `dimensions` finite numbers for each text. It repeats no call.
   */
  embed(texts: readonly string[], call: EmbeddingCall): Promise<readonly ArrayLike<number>[]>;
}

/** An embedder, which `EMBEDDING_PROVIDER` names. */
export interface Embedder {
  /** `plugin/<plugin>/<name>`, in lower-case letters, digits, `.`, `_` and `-`. */
  readonly name: string;
  /**
   * Called before the first texts, and once more after each new contribution of the embedder. The plugin has to release
   * what the client holds. Connecting and each call have a minute together, behind a circuit breaker. Errors of
   * `ModelErrors` are passed on as they are, everything else that is thrown is `model.upstream`, and logged. While
   * there are no vectors, memories are searched by words.
   */
  connect(settings: EmbedderSettings): EmbedderClient | Promise<EmbedderClient>;
}

/** Embedders of other plugins. */
export const EmbeddersPoint = extensionPoint<Embedder>('agent-engine.embedders', {
  name: 'text',
  connect: 'function',
});
