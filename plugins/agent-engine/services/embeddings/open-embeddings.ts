import type { Clock, Ids } from 'agent-gateway';
import type { Embeddings } from '../../contract.ts';
import type { Circuits } from '../models/circuit.ts';
import { endpointOf } from '../models/connect-model.ts';
import { createHashEmbeddings } from './hash-embeddings.ts';
import { createOpenAIEmbeddings } from './openai-embeddings.ts';

/** The plugin's settings that decide which embeddings there are. */
export interface EmbeddingSettings {
  /** `EMBEDDING_MODEL`. Unset: the built-in embeddings. */
  readonly embedding_model?: string | undefined;
  /** `EMBEDDING_API_URL`. Default: `api_url`. */
  readonly embedding_api_url?: string | undefined;
  /** `EMBEDDING_API_KEY`. Default: `api_key`, where the URL is that of `api_url`: a key goes to its own server alone. */
  readonly embedding_api_key?: string | undefined;
  /** `EMBEDDING_DIMENSIONS`. Default: the model's own. */
  readonly embedding_dimensions?: number | undefined;
  /** `LLM_API_URL`. */
  readonly api_url?: string | undefined;
  /** `LLM_API_KEY`. */
  readonly api_key?: string | undefined;
  /** `LLM_MAX_RETRIES`. */
  readonly max_retries: number;
}

/** What embeddings are made with. */
export interface EmbeddingParts {
  readonly settings: EmbeddingSettings;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly circuits?: Circuits | undefined;
  readonly beforeCall: () => void;
}

/** The embeddings of the deployment, and what closes their connections. */
export interface OpenedEmbeddings {
  readonly embeddings: Embeddings;
  readonly close: () => Promise<void>;
}

/** The built-in embeddings, or those of a server where a model is named. Throws an Error that names the variable for settings that cannot work. */
export function openEmbeddings({
  settings,
  clock,
  ids,
  circuits,
  beforeCall,
}: EmbeddingParts): OpenedEmbeddings {
  const { embedding_model: model, api_url, max_retries } = settings;
  if (!model) return { embeddings: createHashEmbeddings(), close: async () => {} };
  const apiUrl = settings.embedding_api_url || api_url;
  if (!apiUrl) throw new Error('EMBEDDING_MODEL needs a server: set EMBEDDING_API_URL, or LLM_API_URL');
  const apiKey = settings.embedding_api_key || (apiUrl === api_url ? settings.api_key : undefined);
  const embeddings = createOpenAIEmbeddings({
    apiUrl,
    apiKey,
    model,
    dimensions: settings.embedding_dimensions,
    retry: { retries: max_retries },
    circuit: circuits?.of(endpointOf('embeddings', apiUrl)),
    clock,
    ids,
    beforeCall,
  });
  return { embeddings, close: async () => embeddings[Symbol.asyncDispose]() };
}
