import {
  type BuildContext,
  isStoreReference,
  type KindDefinition,
  type Logger,
  type Resource,
  type ResourceProblem,
  type ResourceView,
  type UnreadResource,
} from 'agent-gateway';
import type { ModelInfo } from '../../contract.ts';
import { ModelKind, type ModelSpec } from '../../kinds/model.ts';
import {
  type ConnectedModel,
  type ConnectParts,
  circuitOf,
  connectModel,
  providerKind,
} from './connect-model.ts';
import type { ModelEndpoint } from './model-call.ts';
import { parseBaseUrl, providerEndpoint } from './openai-client.ts';

/** The value behind a Model resource. */
export interface ModelResource extends ModelEndpoint, AsyncDisposable {
  /** Aliases that are asked when this one fails before it answered. */
  readonly fallbacks: readonly string[];
}

/** What the models of agents.d are made with. */
interface ModelKindParts extends ConnectParts {
  /** The secret behind a reference that the operator wrote. Rejects, saying why in words that may be shown. */
  readonly resolveSecret: (reference: string) => Promise<string>;
}

/**
 * The kind Model of agents.d. A key is read when its model is built, or at each call if it is in a plugin's store, and
 * no connection is made before the first call.
 */
export function modelKind(parts: ModelKindParts): KindDefinition<typeof ModelSpec, ModelResource> {
  return {
    ...ModelKind,
    references: ({ spec }) =>
      (spec.fallbacks ?? []).map((name, index) => ({
        kind: ModelKind.kind,
        name,
        pointer: `/spec/fallbacks/${index}`,
        // Looked up when they are needed, so that two models may stand in for each other.
        lazy: true,
      })),
    checkUnread,
    build: (resource, context) => build(resource, context, parts),
    dispose: async (model) => {
      await model[Symbol.asyncDispose]();
    },
  };
}

function checkUnread({ metadata, spec }: UnreadResource): readonly ResourceProblem[] {
  const { provider, base_url: url, api_key: key, fallbacks } = spec;
  const kind = typeof provider === 'string' ? providerKind({ provider }) : undefined;
  const problems: ResourceProblem[] = [];
  if (kind?.client === 'demo') {
    for (const name of ['base_url', 'api_key']) {
      if (spec[name] === undefined) continue;
      problems.push({ pointer: `/spec/${name}`, message: 'has no meaning with the provider demo' });
    }
  } else if (typeof url === 'string') {
    try {
      // Other clients append routes of their own.
      if (kind?.client === 'openai') providerEndpoint(url);
      else parseBaseUrl(url);
    } catch (error) {
      problems.push({ pointer: '/spec/base_url', message: (error as TypeError).message });
    }
  }
  if (kind?.client === 'ai-sdk' && kind.needsKey && key === undefined) {
    problems.push({ pointer: '/spec/api_key', message: `is required with the provider ${kind.name}` });
  }
  const own = Array.isArray(fallbacks) ? fallbacks.indexOf(metadata.name) : -1;
  if (own >= 0) problems.push({ pointer: `/spec/fallbacks/${own}`, message: 'is this model itself' });
  return problems;
}

async function build(
  { metadata, spec }: Resource<ModelSpec>,
  { log }: BuildContext,
  parts: ModelKindParts,
): Promise<ModelResource> {
  const { client, circuit, close } = await connect(spec, log, parts);
  return {
    info: infoOf(metadata.name, spec, parts.clock.now()),
    client,
    circuit,
    fallbacks: spec.fallbacks ?? [],
    [Symbol.asyncDispose]: close,
  };
}

/** If the key is in a plugin's store, nothing is connected before the first call. */
async function connect(spec: ModelSpec, log: Logger, parts: ModelKindParts): Promise<ConnectedModel> {
  const { api_key: reference } = spec;
  if (reference === undefined || !isStoreReference(reference)) {
    const apiKey = reference === undefined ? undefined : await parts.resolveSecret(reference);
    return connectModel(spec, apiKey, log, parts);
  }
  const { createKeyedClient } = await import('./keyed-client.ts');
  const keyed = createKeyedClient({
    resolveKey: () => parts.resolveSecret(reference),
    connect: (apiKey) => connectModel(spec, apiKey, log, parts),
    log,
  });
  return { ...keyed, circuit: circuitOf(spec, parts.circuits) };
}

/** What is shown of a model that was defined at `now` (Unix milliseconds). */
export function infoOf(alias: string, spec: ModelSpec, now: number): ModelInfo {
  const { name } = providerKind(spec);
  return {
    id: alias,
    provider: name,
    model: spec.model,
    owned_by: name === 'demo' ? 'agent-gateway' : name,
    created: Math.floor(now / 1000),
    ...(spec.context_length === undefined ? {} : { context_length: spec.context_length }),
    ...(spec.capabilities === undefined ? {} : { capabilities: spec.capabilities }),
  };
}

/**
 * Says in the log when a file of agents.d takes the alias `default` from the server in `LLM_API_URL`, and when it gives
 * it back.
 */
export function logShadowedDefault(
  resources: ResourceView<ModelResource>,
  apiUrl: string | undefined,
  log: Logger,
): void {
  if (apiUrl === undefined) return;
  let isShadowed = false;
  const look = () => {
    const file = resources.list().find(({ name }) => name === 'default')?.file;
    if ((file !== undefined) === isShadowed) return;
    isShadowed = file !== undefined;
    if (isShadowed) log.info({ file }, 'the model default comes from agents.d, and not from LLM_API_URL');
    else log.info('the model default comes from LLM_API_URL again');
  };
  resources.onChange(look);
}
