import type { Clock, Ids, KindDefinition, Resource, ResourceProblem } from 'agent-gateway';
import type { AgentEngineSettings } from '../../config.ts';
import type { Model, ModelClient, ModelInfo } from '../../contract.ts';
import { ModelKind, type ModelSpec, OPENAI_URL } from '../../kinds/model.ts';
import { bindModel } from './bind-model.ts';
import { type ModelObserver, observeModel } from './observed-model.ts';
import { createOpenAIClient } from './openai-client.ts';
import { chatEndpoint } from './openai-request.ts';

/** The value behind a Model resource. */
export interface ModelResource extends Model, AsyncDisposable {
  /** Aliases that are asked when this one fails before it answered. */
  readonly fallbacks: readonly string[];
}

/** What the models of agents.d are made with. */
export interface ModelKindParts {
  /** Time limits, retries and usage are the same for all models. */
  readonly settings: Pick<AgentEngineSettings, 'include_usage' | 'max_retries' | 'timeout' | 'idle_timeout'>;
  readonly demo: ModelClient;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly observer: ModelObserver;
  /** Throws where no outbound call may be made. */
  readonly beforeCall: () => void;
  /** The secret behind `env:NAME` or `file:PATH`, which the operator wrote. Rejects, saying why in words that may be shown. */
  readonly resolveSecret: (reference: string) => Promise<string>;
}

/** The kind Model of agents.d. A key is read when its model is built, and no connection is made before the first call. */
export function modelKind(parts: ModelKindParts): KindDefinition<typeof ModelSpec, ModelResource> {
  return {
    ...ModelKind,
    references: ({ spec }) =>
      (spec.fallbacks ?? []).map((name, index) => ({
        ...{ kind: ModelKind.kind, name, pointer: `/spec/fallbacks/${index}` },
        // Looked up when they are needed, so that two models may stand in for each other.
        lazy: true,
      })),
    check,
    build: (resource) => build(resource, parts),
    dispose: async (model) => {
      await model[Symbol.asyncDispose]();
    },
  };
}

function check({ metadata, spec }: Resource<ModelSpec>): readonly ResourceProblem[] {
  const problems: ResourceProblem[] = [];
  const { provider, base_url, fallbacks = [] } = spec;
  if (provider === 'demo') {
    for (const name of ['base_url', 'api_key'] as const) {
      if (spec[name] === undefined) continue;
      problems.push({ pointer: `/spec/${name}`, message: 'has no meaning with the provider demo' });
    }
  } else if (base_url !== undefined) {
    try {
      chatEndpoint(base_url);
    } catch (error) {
      problems.push({ pointer: '/spec/base_url', message: (error as TypeError).message });
    }
  }
  const own = fallbacks.indexOf(metadata.name);
  if (own >= 0) problems.push({ pointer: `/spec/fallbacks/${own}`, message: 'is this model itself' });
  return problems;
}

async function build({ metadata, spec }: Resource<ModelSpec>, parts: ModelKindParts): Promise<ModelResource> {
  const { clock, observer } = parts;
  const { client, close } = await connect(spec, parts);
  const info: ModelInfo = {
    id: metadata.name,
    provider: spec.provider,
    model: spec.model,
    owned_by: spec.provider === 'demo' ? 'agent-gateway' : spec.provider,
    created: Math.floor(clock.now() / 1000),
    ...(spec.context_length === undefined ? {} : { context_length: spec.context_length }),
    ...(spec.capabilities === undefined ? {} : { capabilities: spec.capabilities }),
  };
  return {
    ...bindModel(info, observeModel(client, info.id, observer, clock)),
    fallbacks: spec.fallbacks ?? [],
    [Symbol.asyncDispose]: close,
  };
}

async function connect(
  spec: ModelSpec,
  { settings, demo, clock, ids, beforeCall, resolveSecret }: ModelKindParts,
): Promise<{ readonly client: ModelClient; readonly close: () => Promise<void> }> {
  if (spec.provider === 'demo') return { client: demo, close: async () => {} };
  const apiKey = spec.api_key === undefined ? undefined : await resolveSecret(spec.api_key);
  const client = createOpenAIClient({
    apiUrl: spec.base_url ?? OPENAI_URL,
    ...(apiKey === undefined ? {} : { apiKey }),
    includeUsage: settings.include_usage,
    timeouts: {
      totalMs: settings.timeout,
      idleMs: settings.idle_timeout,
      firstByteMs: settings.idle_timeout,
    },
    retry: { retries: settings.max_retries },
    ...{ clock, ids, beforeCall },
  });
  return { client, close: async () => client[Symbol.asyncDispose]() };
}
