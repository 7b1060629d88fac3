import type { Clock, Ids, ResourceView } from 'agent-gateway';
import type { AgentEngineSettings } from '../../config.ts';
import type { ModelClient, Models } from '../../contract.ts';
import { createFileModels } from './file-models.ts';
import { createModelRegistry } from './model-registry.ts';
import type { ModelResource } from './model-resource.ts';
import type { ModelObserver } from './observed-model.ts';
import { createOpenAIClient } from './openai-client.ts';

/** What the models are made of. */
export interface ModelParts {
  readonly settings: AgentEngineSettings;
  readonly demo: ModelClient;
  /** The live resources of the kind Model. */
  readonly resources?: ResourceView<ModelResource>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly observer: ModelObserver;
  /** Throws where no outbound call may be made. */
  readonly beforeCall: () => void;
}

/** The models of the deployment, and what closes their connections. */
export interface OpenedModels {
  readonly models: Models;
  readonly close: () => Promise<void>;
}

/** Joins the models of agents.d, the demo model and, where `LLM_API_URL` is set, those of that server. */
export function openModels(parts: ModelParts): OpenedModels {
  const { settings, demo, resources, clock, ids, observer, beforeCall } = parts;
  const { api_url, api_key, model, timeout } = settings;
  const files =
    resources === undefined ? undefined : createFileModels({ resources, clock, observer, timeout });
  if (api_url === undefined) {
    const models = createModelRegistry({ settings: {}, demo, files, clock, observer });
    return { models, close: async () => {} };
  }
  const server = createOpenAIClient({
    apiUrl: api_url,
    ...(api_key === undefined ? {} : { apiKey: api_key }),
    includeUsage: settings.include_usage,
    timeouts: {
      totalMs: timeout,
      idleMs: settings.idle_timeout,
      firstByteMs: settings.idle_timeout,
    },
    retry: { retries: settings.max_retries },
    clock,
    ids,
    beforeCall,
  });
  const named = model === undefined ? { api_url } : { api_url, model };
  return {
    models: createModelRegistry({ settings: named, server, demo, files, clock, observer }),
    close: async () => server[Symbol.asyncDispose](),
  };
}
