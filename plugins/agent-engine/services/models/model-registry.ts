import type { Clock, ResourceView, Spans } from 'agent-gateway';
import { type Model, type ModelClient, ModelErrors, type ModelInfo, type Models } from '../../contract.ts';
import type { ConnectedModel } from './connect-model.ts';
import type { LogModelFailure } from './failure-log.ts';
import type { ModelMetrics } from './metrics.ts';
import { createModelCall, type EndpointChain, type ModelEndpoint, singleEndpoint } from './model-call.ts';
import { infoOf, type ModelResource } from './model-resource.ts';

/** The provider that a deployment names by environment variables. */
export interface ConfiguredServer extends Pick<ConnectedModel, 'client' | 'circuit'> {
  /** `LLM_MODEL`. Unset: every name but `demo` is passed through to the server as it is. Empty counts as unset. */
  readonly model?: string | undefined;
}

/** What the registry is made of. */
export interface ModelRegistryParts {
  /** The server at `LLM_API_URL`. Unset: `default` is the demo model. */
  readonly server?: ConfiguredServer | undefined;
  readonly demo: ModelClient;
  /** The live resources of the kind Model, which win over all others. */
  readonly resources?: ResourceView<ModelResource> | undefined;
  readonly clock: Clock;
  readonly metrics: ModelMetrics;
  readonly logFailure: LogModelFailure;
  readonly tracing: Spans;
  /** Milliseconds after which no fallback is begun any more. */
  readonly timeout: number;
}

/** Metrics carry this instead of names that callers make up: a label must not grow with the requests. */
const PASS_THROUGH_LABEL = 'pass-through';

/** Aliases that an error names at most. */
const MAX_NAMED = 20;

/**
 * The models of the deployment, by alias.
 *
 * - An alias of agents.d takes precedence over everything else with its name; files come and go. A call holds the
 *   versions that it began with: a reload does not cut it off.
 * - `demo` is the built-in model.
 * - No `LLM_API_URL`: `default` is the demo model.
 * - `LLM_API_URL` and `LLM_MODEL`: `default` and the model's own name both lead to it; other names do not exist.
 * - `LLM_API_URL` alone: every other name goes to the server as it is, `default` too (servers of a single model take
 *   any name). What the server does not know is `model_not_found`.
 */
export function createModelRegistry(parts: ModelRegistryParts): Models {
  const { server, demo, resources, clock, metrics, logFailure, tracing, timeout } = parts;
  const start = clock.now();
  const isPassThrough = server !== undefined && !server.model;

  const modelOf = (info: ModelInfo, acquire: () => EndpointChain) =>
    createModelCall({ info, acquire, metrics, logFailure, tracing, clock, timeout });

  function callOf(endpoint: ModelEndpoint): Model {
    const chain = singleEndpoint(endpoint);
    return modelOf(endpoint.info, () => chain);
  }

  function ofDemo(alias: string): Model {
    const info = infoOf(alias, { provider: 'demo', model: 'demo' }, start);
    return callOf({ info, client: demo });
  }

  function ofServer(
    { client, circuit }: ConfiguredServer,
    alias: string,
    model: string,
    label = alias,
  ): Model {
    const info = infoOf(alias, { provider: 'openai', model }, start);
    const explain = isPassThrough ? (error: unknown) => asNotFound(error, model) : undefined;
    return callOf({ info, client, circuit, label, explain });
  }

  function ofFile(alias: string): Model | undefined {
    const info = resources?.get(alias)?.info;
    return info && modelOf(info, () => acquireChain(resources!, alias));
  }

  const fixed = new Map<string, Model>();
  fixed.set('default', server ? ofServer(server, 'default', server.model || 'default') : ofDemo('default'));
  if (server?.model) fixed.set(server.model, ofServer(server, server.model, server.model));
  fixed.set('demo', ofDemo('demo'));

  function list(): readonly ModelInfo[] {
    const all = new Map([...fixed.values()].map(({ info }) => [info.id, info]));
    for (const { value } of resources?.list() ?? []) all.set(value.info.id, value.info);
    return [...all.values()];
  }

  function resolve(alias: string): Model {
    const known = ofFile(alias) ?? fixed.get(alias);
    if (known !== undefined) return known;
    if (isPassThrough) return ofServer(server, alias, alias, PASS_THROUGH_LABEL);
    const aliases = list().map(({ id }) => `"${id}"`);
    const names = `${aliases.slice(0, MAX_NAMED).join(', ')}${aliases.length > MAX_NAMED ? ', …' : ''}`;
    throw ModelErrors.notFound(`There is no model "${shorten(alias)}". Available: ${names}.`, {
      param: 'model',
    });
  }

  return { list, resolve };
}

/** A model of agents.d and its fallbacks that are there now. A fallback's own fallbacks do not count. */
function acquireChain(resources: ResourceView<ModelResource>, alias: string): EndpointChain {
  const first = resources.acquire(alias);
  if (first === undefined)
    throw ModelErrors.notFound(`There is no model "${alias}" any more.`, { param: 'model' });
  const others = first.value.fallbacks.map((name) => resources.acquire(name));
  const leases = [first, ...others].filter((lease) => lease !== undefined);
  return {
    endpoints: leases.map(({ value }) => value),
    [Symbol.dispose]() {
      for (const lease of leases) lease[Symbol.dispose]();
    },
  };
}

/** With names that come from the caller, a name that the server does not know is the caller's mistake: 404, not 502. */
function asNotFound(error: unknown, name: string): unknown {
  const isUnknown = ModelErrors.unknownToProvider.is(error);
  if (!isUnknown) return error;
  const detail = `The model provider does not know a model "${shorten(name)}".`;
  return ModelErrors.notFound(detail, { param: 'model', cause: error.extras.cause });
}

function shorten(name: string): string {
  return name.length <= 100 ? name : `${name.slice(0, 99).toWellFormed()}…`;
}
