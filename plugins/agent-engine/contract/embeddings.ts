import { serviceRef } from 'agent-gateway';

/** Texts as vectors, for comparing them by meaning. */
export interface Embeddings {
  /**
   * Names model and size (`hash-v1:512`, `text-embedding-3-small:1536`): only vectors of one id can be compared. Read it after `embed`:
   * the size may be learnt from the first answer, and until then the id ends in `:?`, which equals no stored one.
   */
  readonly id: string;
  /**
   * One vector of length 1 for each text, in order. Throws errors of `ModelErrors`. The built-in form is pure and never fails: it sees
   * words, not meaning.
   */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]>;
}

/** The embeddings of the deployment. */
export const EmbeddingsRef = serviceRef<Embeddings>('agent-engine.embeddings');
