import type { Clock, Ids, Logger } from 'agent-gateway';
import type { AgentEngineSettings } from '../../config.ts';
import type { ModelClient, ModelProvider } from '../../contract.ts';
import { AI_SDK_PROVIDERS, type ModelSpec, OPENAI_URL } from '../../kinds/model.ts';
import type { Circuit, Circuits } from './circuit.ts';
import { createOpenAIClient } from './openai-client.ts';

/** How a model's provider is reached: by our own client, by the built-in model, or through a package of the AI SDK. */
type ProviderKind =
  | { readonly client: 'demo'; readonly name: 'demo' }
  /** Of a plugin; `name` is without `plugin/`. */
  | { readonly client: 'plugin'; readonly name: string; readonly url: string | undefined }
  | { readonly client: 'openai'; readonly name: 'openai'; readonly url: string }
  | {
      readonly client: 'ai-sdk';
      /** Short, as it is shown and metered: `anthropic`, `mistral`. */
      readonly name: string;
      readonly package: string;
      /** Undefined where only the package knows. */
      readonly url: string | undefined;
      /** Whether no call can be made without `api_key`: packages would then look for a variable of their own. */
      readonly needsKey: boolean;
    };

/** What the names of plugins’ providers begin with. */
const PLUGIN = 'plugin/';

/** Reads `provider` and `base_url` of a Model. `@ai-sdk/anthropic` is the same as `anthropic`. Pure. */
export function providerKind({ provider, base_url }: Pick<ModelSpec, 'provider' | 'base_url'>): ProviderKind {
  if (provider === 'demo') return { client: 'demo', name: 'demo' };
  if (provider === 'openai') return { client: 'openai', name: 'openai', url: base_url ?? OPENAI_URL };
  if (provider.startsWith(PLUGIN))
    return { client: 'plugin', name: provider.slice(PLUGIN.length), url: base_url };
  const packageName = AI_SDK_PROVIDERS[provider]?.package ?? provider.replace(/^npm:/, '');
  const known = Object.entries(AI_SDK_PROVIDERS).find(([, entry]) => entry.package === packageName);
  return {
    client: 'ai-sdk',
    name: known?.[0] ?? packageName.replace(/^@ai-sdk\//, ''),
    package: packageName,
    url: base_url ?? known?.[1].url,
    needsKey: known !== undefined,
  };
}

/** The name of an endpoint in circuit breakers, logs and metrics: the provider and its host. */
export function endpointOf(name: string, url: string | undefined): string {
  const host = url === undefined ? undefined : URL.parse(url)?.host;
  return host === undefined ? name : `${name} ${host}`;
}

/** The breaker before a model; none before `demo`. */
export function circuitOf(spec: ModelSpec, circuits: Circuits | undefined): Circuit | undefined {
  const kind = providerKind(spec);
  if (kind.client === 'demo') return undefined;
  const { name, url } = kind;
  return circuits?.of({ endpoint: endpointOf(name, url), url, model: spec.model });
}

/** Limits of calls, the same for all models. */
type CallSettings = Pick<AgentEngineSettings, 'include_usage' | 'max_retries' | 'timeout' | 'idle_timeout'>;

/** What a model is connected with. */
export interface ConnectParts {
  readonly settings: CallSettings;
  readonly demo: ModelClient;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Breakers before the providers; without them every call is made. */
  readonly circuits?: Circuits | undefined;
  /** The providers that plugins contribute now; none where absent. */
  readonly providers?: (() => readonly ModelProvider[]) | undefined;
  /** Throws where no outbound call may be made. */
  readonly beforeCall: () => void;
}

/** How a model is reached. */
export interface ConnectedModel {
  readonly client: ModelClient;
  readonly circuit?: Circuit | undefined;
  readonly close: () => Promise<void>;
}

/**
 * The client of a model's provider, and the circuit breaker before it. No connection is made before the first call. A
 * package of the AI SDK is loaded here, with the adapter, and not before. Rejects, saying why in words that may be
 * shown.
 */
export async function connectModel(
  spec: ModelSpec,
  apiKey: string | undefined,
  log: Logger,
  { settings, demo, circuits, providers = () => [], clock, ids, beforeCall }: ConnectParts,
): Promise<ConnectedModel> {
  const kind = providerKind(spec);
  if (kind.client === 'demo') return { client: demo, close: async () => {} };
  const { timeout, idle_timeout, max_retries } = settings;
  const common = {
    timeouts: { totalMs: timeout, idleMs: idle_timeout, firstByteMs: idle_timeout },
    retry: { retries: max_retries },
    ...(apiKey !== undefined && { apiKey }),
    clock,
    ids,
    beforeCall,
  };
  const circuit = circuitOf(spec, circuits);
  if (kind.client === 'openai') {
    const client = createOpenAIClient({ ...common, apiUrl: kind.url, includeUsage: settings.include_usage });
    return { client, circuit, close: async () => client[Symbol.asyncDispose]() };
  }
  if (kind.client === 'plugin') {
    const timeouts = { totalMs: timeout, idleMs: idle_timeout };
    const { createProvidedClient } = await import('./provided-client.ts');
    const client = createProvidedClient({ spec, apiKey, providers, timeouts, beforeCall, clock, ids, log });
    return { client, circuit, close: async () => {} };
  }
  const { loadProvider } = await import('./ai-sdk/load-provider.ts');
  const { createAISDKClient } = await import('./ai-sdk/ai-sdk-client.ts');
  const createModel = await loadProvider(kind.package);
  const given = {
    ...(apiKey !== undefined && { apiKey }),
    ...(kind.url !== undefined && { baseURL: kind.url }),
  };
  const client = createAISDKClient({
    ...common,
    log,
    provider: kind.name,
    createModel: (fetch) => createModel({ ...given, fetch }, spec.model),
  });
  return { client, circuit, close: async () => client[Symbol.asyncDispose]() };
}
