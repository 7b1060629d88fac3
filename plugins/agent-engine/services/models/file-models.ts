import { type Clock, GatewayError, type ResourceView } from 'agent-gateway';
import {
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  type Model,
  type ModelCallContext,
  ModelErrors,
  type ModelInfo,
} from '../../contract.ts';
import type { ModelResource } from './model-resource.ts';
import type { ModelObserver } from './observed-model.ts';

/** What the models of agents.d are served with. */
export interface FileModelsParts {
  readonly resources: ResourceView<ModelResource>;
  readonly clock: Clock;
  readonly observer?: ModelObserver;
  /** Milliseconds after which no fallback is begun any more. */
  readonly timeout: number;
}

/** The models of agents.d, by alias. A call holds the versions that it began with: a reload does not cut it. */
export interface FileModels {
  list(): readonly ModelInfo[];
  /** Undefined when no file declares the alias. */
  find(alias: string): Model | undefined;
}

/** Failures of the provider, not of the request, after which another model may do better. */
const WORTH_A_FALLBACK = new Set(
  [
    ModelErrors.upstream,
    ModelErrors.timeout,
    ModelErrors.rateLimited,
    ModelErrors.overloaded,
    ModelErrors.unavailable,
    ModelErrors.unknownToProvider,
  ].map(({ definition }) => definition.code),
);

/** Serves what is live in agents.d. */
export function createFileModels({ resources, clock, observer, timeout }: FileModelsParts): FileModels {
  /** The model and its fallbacks that are there now, held until the stack is disposed. A fallback's own fallbacks do not count. */
  function holdChain(alias: string, held: DisposableStack): readonly ModelResource[] {
    const first = resources.acquire(alias);
    if (first === undefined)
      throw ModelErrors.notFound(`There is no model "${alias}" any more.`, { param: 'model' });
    const others = first.value.fallbacks.map((name) => resources.acquire(name));
    return [first, ...others].filter((lease) => lease !== undefined).map((lease) => held.use(lease).value);
  }

  /** Is the next model to be asked after this failure? Counts it then. */
  function goesOn(
    error: unknown,
    alias: string,
    next: ModelResource | undefined,
    end: number,
    { signal }: ModelCallContext,
  ): boolean {
    if (next === undefined || signal.aborted || clock.monotonic() >= end) return false;
    if (!(error instanceof GatewayError) || !WORTH_A_FALLBACK.has(error.code)) return false;
    observer?.fallback?.(alias, next.info.id);
    return true;
  }

  async function complete(
    alias: string,
    request: ChatRequest,
    context: ModelCallContext,
  ): Promise<ChatCompletion> {
    using held = new DisposableStack();
    const models = holdChain(alias, held);
    const end = clock.monotonic() + timeout;
    for (let index = 0; ; index += 1) {
      try {
        return await models[index]!.complete(request, context);
      } catch (error) {
        if (!goesOn(error, alias, models[index + 1], end, context)) throw error;
      }
    }
  }

  async function* stream(
    alias: string,
    request: ChatRequest,
    context: ModelCallContext,
  ): AsyncGenerator<ChatChunk, void> {
    using held = new DisposableStack();
    const models = holdChain(alias, held);
    const end = clock.monotonic() + timeout;
    for (let index = 0; ; index += 1) {
      let hasBegun = false;
      try {
        for await (const chunk of models[index]!.stream(request, context)) {
          hasBegun = true;
          yield chunk;
        }
        return;
      } catch (error) {
        if (hasBegun || !goesOn(error, alias, models[index + 1], end, context)) throw error;
      }
    }
  }

  return {
    list: () => resources.list().map(({ value }) => value.info),
    find(alias) {
      const info = resources.get(alias)?.info;
      if (info === undefined) return undefined;
      return {
        info,
        complete: (request, context) => complete(alias, request, context),
        stream: (request, context) => stream(alias, request, context),
      };
    },
  };
}
