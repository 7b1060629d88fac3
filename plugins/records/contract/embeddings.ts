import { extensionPoint } from 'agent-gateway';

/** Texts as vectors, for comparing them by meaning. */
export interface Embeddings {
  /**
   * Names model and size (`hash-v1:512`, `text-embedding-3-small:1536`): only vectors of one id can be compared. Read
   * it after `embed`: the size may be known only from the first answer, and until then the id ends in `:?`, which
   * equals no stored id.
   */
  readonly id: string;
  /**
   * One vector of length 1 for each text, in order. Rejects when the embeddings do not answer.
   *
   * @param tenantId the tenant that the texts belong to, if known; it is passed to an embedder of a plugin
   */
  embed(texts: readonly string[], signal: AbortSignal, tenantId?: string): Promise<readonly Float32Array[]>;
}

/** What memories are compared by. The latest contribution is used; without one memories are searched by words. */
export const EmbeddingsPoint = extensionPoint<Embeddings>('records.embeddings', { embed: 'function' });
