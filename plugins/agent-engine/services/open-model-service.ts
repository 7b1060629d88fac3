import { ConfigurationError, type Logger, type ResourceView, type Scope, type Spans } from 'agent-gateway';
import type { AgentEngineSettings } from '../config.ts';
import {
  type Embedder,
  EmbeddersPoint,
  type Embeddings,
  ModelProvidersPoint,
  type Models,
} from '../contract.ts';
import { createHashEmbeddings } from './embeddings/hash-embeddings.ts';
import { createOpenAIEmbeddings } from './embeddings/openai-embeddings.ts';
import { createProvidedEmbeddings } from './embeddings/provided-embeddings.ts';
import { createCircuits } from './models/circuit.ts';
import { type ConnectParts, connectModel, endpointOf } from './models/connect-model.ts';
import { createDemoModel } from './models/demo-model.ts';
import { createFailureLog } from './models/failure-log.ts';
import { type ModelMetrics, modelMetrics } from './models/metrics.ts';
import { createModelRegistry } from './models/model-registry.ts';
import { logShadowedDefault, type ModelResource, modelKind } from './models/model-resource.ts';
import { createHeaders, providerEndpoint } from './models/openai-client.ts';
import { watchOffer } from './watch-offer.ts';

/**
 * Registers the kind Model and opens the models and embeddings of the deployment; their connections close with the
 * plugin.
 */
export async function openModelService(
  scope: Scope<AgentEngineSettings>,
): Promise<{ readonly models: Models; readonly embeddings: Embeddings }> {
  const { config: settings, log, services } = scope;
  const { clock, ids, secrets, tracing, assertOutsideTransaction } = services;
  const metrics = modelMetrics(scope.metric);
  const parts = {
    settings,
    clock,
    ids,
    log,
    metrics,
    tracing,
    demo: createDemoModel({ clock, ids }),
    circuits: createCircuits({ clock, metrics, log }),
    providers: scope.contributions(ModelProvidersPoint),
    beforeCall: () => assertOutsideTransaction('a model call'),
  };
  const resolveSecret = (reference: string) => secrets.resolve(reference, 'operator');
  const resources = scope.kind(modelKind({ ...parts, resolveSecret }));
  logShadowedDefault(resources, settings.api_url, log);
  const opened = await openModels({ ...parts, resources });
  scope.defer(opened.close);
  const embedders = scope.contributions(EmbeddersPoint);
  const { embeddings, close } = openEmbeddings({ ...parts, embedders });
  scope.defer(close);
  // Without the embedder searches go on by words, so its absence might go unnoticed.
  watchOffer(scope, 'EMBEDDING_PROVIDER', settings.embedding_provider, embedders);
  return { models: opened.models, embeddings };
}

/** What the models are made of. */
interface ModelParts extends ConnectParts {
  readonly settings: ConnectParts['settings'] & Pick<AgentEngineSettings, 'api_url' | 'api_key' | 'model'>;
  /** The live resources of the kind Model. */
  readonly resources?: ResourceView<ModelResource>;
  readonly metrics: ModelMetrics;
  readonly tracing: Spans;
  readonly log: Logger;
}

/**
 * Joins the models of agents.d, the demo model and, where `LLM_API_URL` is set, the model of that server, which is
 * connected like one of agents.d. Rejects with a ConfigurationError, which stops the start, for an address or a key
 * that cannot work.
 */
export async function openModels(
  parts: ModelParts,
): Promise<{ readonly models: Models; readonly close: () => Promise<void> }> {
  const { settings, demo, resources, clock, metrics, tracing, log } = parts;
  const { api_url, api_key, model, timeout } = settings;
  const logFailure = createFailureLog(clock, log);
  const common = { demo, resources, clock, metrics, tracing, timeout, logFailure };
  if (api_url === undefined) return { models: createModelRegistry(common), close: async () => {} };
  requireUsable('LLM_API_URL', () => providerEndpoint(api_url));
  requireUsable('LLM_API_KEY', () => createHeaders(api_key));
  const spec = { provider: 'openai', model: model || 'default', base_url: api_url };
  const { client, circuit, close } = await connectModel(spec, api_key, log, parts);
  return { models: createModelRegistry({ ...common, server: { client, circuit, model } }), close };
}

/** Reports what is wrong with a setting under the name of its variable. */
function requireUsable(name: string, use: () => unknown): void {
  try {
    use();
  } catch (error) {
    throw new ConfigurationError([{ name, message: (error as Error).message }], { cause: error });
  }
}

/** What embeddings are made with. `api_url` and `api_key` serve them too; the key goes to its own server alone. */
interface EmbeddingParts extends Pick<ConnectParts, 'circuits' | 'clock' | 'ids' | 'beforeCall'> {
  readonly settings: Pick<AgentEngineSettings, 'max_retries'> & Partial<AgentEngineSettings>;
  readonly embedders: () => readonly Embedder[];
  readonly log: Logger;
}

/**
 * The built-in embeddings, those of a server where a model is named, or those of a plugin where one is named. Throws an
 * Error that names the variable for settings that cannot work.
 */
export function openEmbeddings(parts: EmbeddingParts): {
  readonly embeddings: Embeddings;
  readonly close: () => Promise<void>;
} {
  const { settings, embedders, circuits, clock, ids, log, beforeCall } = parts;
  const { embedding_provider: provider = 'openai', embedding_model: model, api_url, max_retries } = settings;
  if (provider !== 'openai') {
    const embeddings = createProvidedEmbeddings({
      name: provider,
      embedders,
      settings: {
        model,
        baseUrl: settings.embedding_api_url,
        apiKey: settings.embedding_api_key,
        dimensions: settings.embedding_dimensions,
      },
      circuit: circuits?.of({ endpoint: `embeddings ${provider}`, model: model ?? '' }),
      beforeCall,
      clock,
      log,
    });
    return { embeddings, close: async () => {} };
  }
  if (!model) return { embeddings: createHashEmbeddings(), close: async () => {} };
  const apiUrl = settings.embedding_api_url || api_url;
  if (!apiUrl) throw new Error('EMBEDDING_MODEL needs a server: set EMBEDDING_API_URL, or LLM_API_URL');
  const variable = settings.embedding_api_url ? 'EMBEDDING_API_URL' : 'LLM_API_URL';
  requireUsable(variable, () => providerEndpoint(apiUrl, '/embeddings'));
  const apiKey = settings.embedding_api_key || (apiUrl === api_url ? settings.api_key : undefined);
  const embeddings = createOpenAIEmbeddings({
    apiUrl,
    apiKey,
    model,
    dimensions: settings.embedding_dimensions,
    retry: { retries: max_retries },
    circuit: circuits?.of({ endpoint: endpointOf('embeddings', apiUrl), url: apiUrl, model }),
    clock,
    ids,
    beforeCall,
  });
  return { embeddings, close: async () => embeddings[Symbol.asyncDispose]() };
}
