import type { Clock, Ids, Logger } from 'agent-gateway';
import type { AgentEngineSettings } from '../../config.ts';
import type { ModelClient } from '../../contract.ts';
import type { ModelSpec } from '../../kinds/model.ts';
import type { Circuits } from './circuits.ts';
import { guardClient } from './guarded-client.ts';
import { createOpenAIClient } from './openai-client.ts';
import { endpointOf, providerKind } from './provider-kind.ts';
import type { RetrySettings } from './retry.ts';
import type { Timeouts } from './timeouts.ts';

/** Limits of calls, the same for all models. */
export type CallSettings = Pick<
  AgentEngineSettings,
  'include_usage' | 'max_retries' | 'timeout' | 'idle_timeout'
>;

/** What a model is connected with. */
export interface ConnectParts {
  readonly settings: CallSettings;
  readonly demo: ModelClient;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Breakers before the providers; without them every call is made. */
  readonly circuits?: Circuits | undefined;
  /** Throws where no outbound call may be made. */
  readonly beforeCall: () => void;
}

/** A client, and what ends it. */
export interface ConnectedModel {
  readonly client: ModelClient;
  readonly close: () => Promise<void>;
}

/** The clients' deadlines and retries by the plugin's settings. */
export function clientLimits(settings: CallSettings): {
  readonly timeouts: Partial<Timeouts>;
  readonly retry: Partial<RetrySettings>;
} {
  const { timeout, idle_timeout, max_retries } = settings;
  return {
    timeouts: { totalMs: timeout, idleMs: idle_timeout, firstByteMs: idle_timeout },
    retry: { retries: max_retries },
  };
}

/**
 * The client of a model's provider, behind its circuit breaker. No connection is made before the first call. A package of the AI SDK
 * is loaded here, with the adapter, and not before. Rejects, saying why in words that may be shown.
 */
export async function connectModel(
  spec: ModelSpec,
  apiKey: string | undefined,
  log: Logger,
  parts: ConnectParts,
): Promise<ConnectedModel> {
  const { settings, demo, circuits, clock, ids, beforeCall } = parts;
  const kind = providerKind(spec);
  if (kind.client === 'demo') return { client: demo, close: async () => {} };
  const common = {
    ...clientLimits(settings),
    ...(apiKey !== undefined && { apiKey }),
    clock,
    ids,
    beforeCall,
  };
  const circuit = circuits?.of(endpointOf(kind.name, kind.url));
  const client =
    kind.client === 'openai'
      ? createOpenAIClient({ ...common, apiUrl: kind.url, includeUsage: settings.include_usage })
      : await connectPackage(kind);

  async function connectPackage(provider: Extract<typeof kind, { client: 'ai-sdk' }>) {
    const { loadProvider } = await import('./ai-sdk/load-provider.ts');
    const { createAISDKClient } = await import('./ai-sdk/ai-sdk-client.ts');
    const createModel = await loadProvider(provider.package);
    const { url } = provider;
    const given = { ...(apiKey !== undefined && { apiKey }), ...(url !== undefined && { baseURL: url }) };
    return createAISDKClient({
      ...{ ...common, log, provider: provider.name },
      createModel: (fetch) => createModel({ ...given, fetch }, spec.model),
    });
  }

  return {
    client: circuit === undefined ? client : guardClient(client, circuit),
    close: async () => client[Symbol.asyncDispose](),
  };
}
