import type { Clock, Ids } from 'agent-gateway';
import type { AgentEngineSettings } from '../../config.ts';
import type { Models } from '../../contract.ts';
import { createDemoModel } from './demo-model.ts';
import { createModelRegistry } from './model-registry.ts';
import type { ModelObserver } from './observed-model.ts';
import { createOpenAIClient } from './openai-client.ts';

/** What the models are made of. */
export interface ModelParts {
  readonly settings: AgentEngineSettings;
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

/** Makes the demo model and, where `LLM_API_URL` is set, the client of that server. */
export function openModels({ settings, clock, ids, observer, beforeCall }: ModelParts): OpenedModels {
  const { api_url, api_key, model } = settings;
  const demo = createDemoModel({ clock, ids });
  if (api_url === undefined) {
    return { models: createModelRegistry({ settings: {}, demo, clock, observer }), close: async () => {} };
  }
  const server = createOpenAIClient({
    apiUrl: api_url,
    ...(api_key === undefined ? {} : { apiKey: api_key }),
    includeUsage: settings.include_usage,
    timeouts: {
      totalMs: settings.timeout,
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
    models: createModelRegistry({ settings: named, server, demo, clock, observer }),
    close: async () => server[Symbol.asyncDispose](),
  };
}
