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
   * Names what the vectors are like, with 1 to 64 letters, digits, `.`, `_`, `-`, `:` and `/`. Another `id` means that stored vectors are not compared with new ones, but
   * made anew bit by bit, as after a change of the model: change it whenever other vectors come out.
   */
  readonly id: string;
  /** Numbers in each vector, 1 to 8192. */
  readonly dimensions: number;
  /** Texts of one call at most, 1 to 1024; default 128. */
  readonly batch?: number;
  /**
   * One vector for each text, in order. Texts have 1 to 8,000 characters. The engine makes the length of the vectors 1, and refuses what is
   * not a vector of `dimensions` finite numbers for each text. It repeats no call.
   */
  embed(texts: readonly string[], call: EmbeddingCall): Promise<readonly ArrayLike<number>[]>;
}

/** An embedder, which `EMBEDDING_PROVIDER` names. */
export interface Embedder {
  /** `plugin/<plugin>/<name>`, in lower-case letters, digits, `.`, `_` and `-`. */
  readonly name: string;
  /**
   * Once, before the first texts, and again when the embedder was contributed anew. What the client holds is the plugin's to end. Connecting and each call have a minute together, and a circuit
   * breaker before them. Errors of `ModelErrors` are passed on as they are, everything else that is thrown is `model.upstream`, and logged. While there are no vectors, memories are searched by words.
   */
  connect(settings: EmbedderSettings): EmbedderClient | Promise<EmbedderClient>;
}

/** Embedders of other plugins. */
export const EmbeddersPoint = extensionPoint<Embedder>('agent-engine.embedders');
