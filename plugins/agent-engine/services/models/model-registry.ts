import { type Clock, GatewayError } from 'agent-gateway';
import {
  type ChatRequest,
  type Model,
  type ModelCallContext,
  type ModelClient,
  ModelErrors,
  type ModelInfo,
  type Models,
} from '../../contract.ts';
import { bindModel } from './bind-model.ts';
import type { FileModels } from './file-models.ts';
import { type ModelObserver, observeModel } from './observed-model.ts';

/** The provider that a deployment names by environment variables. Empty strings count as unset. */
export interface ProviderSettings {
  /** `LLM_API_URL`. Unset: `default` is the demo model. */
  readonly api_url?: string;
  /** `LLM_MODEL`. Unset: every name but `demo` is passed through to the server as it is. */
  readonly model?: string;
}

/** What the registry is made of. */
export interface ModelRegistryParts {
  readonly settings: ProviderSettings;
  /** The client of the server at `settings.api_url`; needed exactly when that is set. */
  readonly server?: ModelClient;
  readonly demo: ModelClient;
  /** The models of agents.d, which win over all others. */
  readonly files?: FileModels;
  readonly clock: Clock;
  readonly observer?: ModelObserver;
}

/** Metrics carry this instead of names that callers make up: a label must not grow with what is asked. */
const PASS_THROUGH_LABEL = 'pass-through';

/** Aliases that an error names at most. */
const MAX_NAMED = 20;

/**
 * The models of the deployment, by alias.
 *
 * - An alias of agents.d is what the file says, whatever else has the same name; files come and go.
 * - `demo` is the built-in model.
 * - No `LLM_API_URL`: `default` is the demo model.
 * - `LLM_API_URL` and `LLM_MODEL`: `default` and the model's own name both lead to it; other names do not exist.
 * - `LLM_API_URL` alone: every other name goes to the server as it is, `default` too (servers of a single model take
 *   any name). What the server does not know is `model_not_found`.
 */
export function createModelRegistry(parts: ModelRegistryParts): Models {
  const { settings, server, demo, files, clock, observer } = parts;
  const created = Math.floor(clock.now() / 1000);
  const models = new Map<string, Model>();

  function model(
    id: string,
    provider: 'openai' | 'demo',
    name: string,
    client: ModelClient,
    label = id,
  ): Model {
    const info = {
      id,
      provider,
      model: name,
      owned_by: provider === 'demo' ? 'agent-gateway' : provider,
      created,
    };
    return bindModel(info, observer === undefined ? client : observeModel(client, label, observer, clock));
  }

  const passThrough = server !== undefined && !settings.model ? nameUnknownModels(server) : undefined;
  if (server === undefined) models.set('default', model('default', 'demo', 'demo', demo));
  else models.set('default', model('default', 'openai', settings.model || 'default', passThrough ?? server));
  if (server !== undefined && settings.model) {
    models.set(settings.model, model(settings.model, 'openai', settings.model, server));
  }
  models.set('demo', model('demo', 'demo', 'demo', demo));

  function resolve(alias: string): Model {
    const known = files?.find(alias) ?? models.get(alias);
    if (known !== undefined) return known;
    if (passThrough !== undefined) return model(alias, 'openai', alias, passThrough, PASS_THROUGH_LABEL);
    const aliases = list().map(({ id }) => `"${id}"`);
    const names = `${aliases.slice(0, MAX_NAMED).join(', ')}${aliases.length > MAX_NAMED ? ', …' : ''}`;
    throw ModelErrors.notFound(`There is no model "${shorten(alias)}". Available: ${names}.`, {
      param: 'model',
    });
  }

  function list(): readonly ModelInfo[] {
    const ofFiles = files?.list() ?? [];
    const all = new Map([...models.values()].map(({ info }) => [info.id, info]));
    for (const info of ofFiles) all.set(info.id, info);
    return [...all.values()];
  }

  return { list, resolve };
}

/** With names that come from the caller, a name that the server does not know is the caller's mistake: 404, not 502. */
function nameUnknownModels(server: ModelClient): ModelClient {
  return {
    async complete(request, context) {
      try {
        return await server.complete(request, context);
      } catch (error) {
        throw asNotFound(error, request.model);
      }
    },
    async *stream(request: ChatRequest, context: ModelCallContext) {
      try {
        yield* server.stream(request, context);
      } catch (error) {
        throw asNotFound(error, request.model);
      }
    },
  };
}

function asNotFound(error: unknown, name: string): unknown {
  const isUnknown =
    error instanceof GatewayError && error.code === ModelErrors.unknownToProvider.definition.code;
  if (!isUnknown) return error;
  const detail = `The model provider does not know a model "${shorten(name)}".`;
  return ModelErrors.notFound(detail, { param: 'model', cause: error.extras.cause });
}

function shorten(name: string): string {
  return name.length <= 100 ? name : `${name.slice(0, 99).toWellFormed()}…`;
}
