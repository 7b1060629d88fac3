import { type Clock, ConfigurationError, type Ids, type ResourceView } from 'agent-gateway';
import type { AgentEngineSettings } from '../../config.ts';
import type { ModelClient, Models } from '../../contract.ts';
import type { Circuits } from './circuit.ts';
import { clientLimits, endpointOf } from './connect-model.ts';
import { createFileModels } from './file-models.ts';
import { guardClient } from './guarded-client.ts';
import { createModelRegistry } from './model-registry.ts';
import type { ModelResource } from './model-resource.ts';
import type { ModelObserver } from './observed-model.ts';
import { createHeaders, createOpenAIClient, providerEndpoint } from './openai-client.ts';

/** What the models are made of. */
export interface ModelParts {
  readonly settings: Pick<
    AgentEngineSettings,
    'api_url' | 'api_key' | 'model' | 'include_usage' | 'max_retries' | 'timeout' | 'idle_timeout'
  >;
  readonly demo: ModelClient;
  /** The live resources of the kind Model. */
  readonly resources?: ResourceView<ModelResource>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly observer: ModelObserver;
  /** Breakers before the providers, shared with the models of agents.d; without them every call is made. */
  readonly circuits?: Circuits | undefined;
  /** Throws where no outbound call may be made. */
  readonly beforeCall: () => void;
}

/** The models of the deployment, and what closes their connections. */
export interface OpenedModels {
  readonly models: Models;
  readonly close: () => Promise<void>;
}

/**
 * Joins the models of agents.d, the demo model and, where `LLM_API_URL` is set, those of that server. Throws a ConfigurationError, which
 * stops the start, for an address or a key that cannot work.
 */
export function openModels(parts: ModelParts): OpenedModels {
  const { settings, demo, resources, clock, ids, observer, circuits, beforeCall } = parts;
  const { api_url, api_key, model, timeout } = settings;
  const files =
    resources === undefined ? undefined : createFileModels({ resources, clock, observer, timeout });
  if (api_url === undefined) {
    const models = createModelRegistry({ settings: {}, demo, files, clock, observer });
    return { models, close: async () => {} };
  }
  requireUsable('LLM_API_URL', () => providerEndpoint(api_url));
  requireUsable('LLM_API_KEY', () => createHeaders(api_key));
  const client = createOpenAIClient({
    apiUrl: api_url,
    ...(api_key === undefined ? {} : { apiKey: api_key }),
    includeUsage: settings.include_usage,
    ...clientLimits(settings),
    ...{ clock, ids, beforeCall },
  });
  const circuit = circuits?.of(endpointOf('openai', api_url));
  const server = circuit === undefined ? client : guardClient(client, circuit);
  const named = model === undefined ? { api_url } : { api_url, model };
  return {
    models: createModelRegistry({ settings: named, server, demo, files, clock, observer }),
    close: async () => client[Symbol.asyncDispose](),
  };
}

/** What is wrong with a setting is told with the name of its variable. */
function requireUsable(name: string, use: () => unknown): void {
  try {
    use();
  } catch (error) {
    throw new ConfigurationError([{ name, message: (error as Error).message }], { cause: error });
  }
}
