import { extensionPoint, type Logger } from 'agent-gateway';
import type { ModelClient } from './models.ts';

/** What a document of `kind: Model` says of a model of a plugin's provider. */
export interface ProvidedModel {
  /** The name that the provider knows. */
  readonly model: string;
  readonly baseUrl: string | undefined;
  /** The secret behind `api_key`, as it was when the document was read. */
  readonly apiKey: string | undefined;
  readonly log: Logger;
}

/** A provider of models, which documents of `kind: Model` name in `spec.provider`. */
export interface ModelProvider {
  /** `plugin/<plugin>/<name>`, in lower-case letters, digits, `.`, `_` and `-`. */
  readonly name: string;
  /**
   * The client of a model: called for each document at its first call, and once more after each new contribution of the
   * provider. The plugin has to release what the client holds. The engine adds to each call what all models have: its
   * deadlines (`LLM_TIMEOUT`; `LLM_IDLE_TIMEOUT` for each chunk), circuit breaker, fallbacks, metrics and usage; it
   * retries no call. Errors of `ModelErrors` are shown as they are, everything else that the client throws is
   * `model.upstream`, and logged.
   */
  connect(model: ProvidedModel): ModelClient | Promise<ModelClient>;
}

/** Providers of models of other plugins. */
export const ModelProvidersPoint = extensionPoint<ModelProvider>('agent-engine.model-providers', {
  name: 'text',
  connect: 'function',
});
