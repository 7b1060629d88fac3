import { serviceRef } from 'agent-gateway';
import type { Embeddings } from '../../records/contract.ts';

/**
 * The embeddings of the deployment. What they throw is of `ModelErrors`. The built-in form is pure and never fails: it sees words, not
 * meaning.
 */
export const EmbeddingsRef = serviceRef<Embeddings>('agent-engine.embeddings');
