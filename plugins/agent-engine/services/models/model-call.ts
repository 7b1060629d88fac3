import { type Clock, GatewayError } from 'agent-gateway';
import {
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  type Model,
  type ModelCallContext,
  type ModelClient,
  ModelErrors,
  type ModelInfo,
  type Usage,
} from '../../contract.ts';
import type { Circuit, Passage } from './circuit.ts';
import type { ModelMetrics } from './metrics.ts';

/** A model as it is asked: under which name, through which client, behind which circuit breaker. */
export interface ModelEndpoint {
  readonly info: ModelInfo;
  readonly client: ModelClient;
  /** Without one every call is made. */
  readonly circuit?: Circuit | undefined;
  /** The value of the metrics' label `model`. Default: the alias. */
  readonly label?: string;
  /** An error of the client as the caller has to see it. */
  readonly explain?: ((error: unknown) => unknown) | undefined;
}

/** The model and then its fallbacks, in their order. Disposed when the call is over. */
export interface EndpointChain extends Disposable {
  readonly endpoints: readonly ModelEndpoint[];
}

/** A chain of one endpoint that is always there. */
export function singleEndpoint(endpoint: ModelEndpoint): EndpointChain {
  return { endpoints: [endpoint], [Symbol.dispose]() {} };
}

/** What a model call is made of. */
export interface ModelCallParts {
  readonly info: ModelInfo;
  /** Called at the beginning of each call: a call keeps the versions that it began with. */
  readonly acquire: () => EndpointChain;
  readonly metrics: ModelMetrics;
  readonly clock: Clock;
  /** Milliseconds after which no fallback is begun any more. */
  readonly timeout: number;
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

/**
 * The two verbs of a model. Each endpoint that is asked gets its own name of the model, passes its circuit breaker, and is measured; when it
 * fails before it answered, the next one is asked. Of a stream the first chunk is the answer: a stream that breaks later was one.
 */
export function createModelCall({ info, acquire, metrics, clock, timeout }: ModelCallParts): Model {
  /** Whether the next endpoint is to be asked after this failure. Counts it then. */
  function fallsBack(
    error: unknown,
    next: ModelEndpoint | undefined,
    end: number,
    { signal }: ModelCallContext,
  ): boolean {
    if (next === undefined || signal.aborted || clock.monotonic() >= end) return false;
    if (!(error instanceof GatewayError) || !WORTH_A_FALLBACK.has(error.code)) return false;
    metrics.fallbacks.inc({ model: info.id, fallback: next.info.id });
    return true;
  }

  async function complete(request: ChatRequest, context: ModelCallContext): Promise<ChatCompletion> {
    using chain = acquire();
    const { endpoints } = chain;
    const end = clock.monotonic() + timeout;
    for (let index = 0; ; index += 1) {
      const endpoint = endpoints[index]!;
      const attempt = new Attempt(endpoint, context, metrics, clock);
      try {
        attempt.enter();
        const model = endpoint.info.model;
        const completion = await endpoint.client.complete({ ...request, model }, context);
        attempt.succeeded(completion.usage);
        return completion;
      } catch (thrown) {
        const error = attempt.failed(thrown);
        if (!fallsBack(error, endpoints[index + 1], end, context)) throw error;
      } finally {
        attempt.ended();
      }
    }
  }

  async function* stream(request: ChatRequest, context: ModelCallContext): AsyncGenerator<ChatChunk, void> {
    using chain = acquire();
    const { endpoints } = chain;
    const end = clock.monotonic() + timeout;
    for (let index = 0; ; index += 1) {
      const endpoint = endpoints[index]!;
      const attempt = new Attempt(endpoint, context, metrics, clock);
      try {
        attempt.enter();
        const model = endpoint.info.model;
        for await (const chunk of endpoint.client.stream({ ...request, model }, context)) {
          if (!attempt.hasAnswered) attempt.began();
          // Some servers report the running total with every chunk: only the last one counts.
          if (chunk.usage) attempt.usage = chunk.usage;
          yield chunk;
        }
        attempt.succeeded(attempt.usage);
        return;
      } catch (thrown) {
        const error = attempt.failed(thrown);
        if (attempt.hasAnswered || !fallsBack(error, endpoints[index + 1], end, context)) throw error;
      } finally {
        attempt.ended();
      }
    }
  }

  return { info, complete, stream };
}

/** One endpoint being asked once. */
class Attempt {
  hasAnswered = false;
  /** What the call consumed, where the provider says so. */
  usage: Usage | null | undefined;
  readonly #endpoint: ModelEndpoint;
  readonly #context: ModelCallContext;
  readonly #metrics: ModelMetrics;
  readonly #clock: Clock;
  readonly #label: string;
  readonly #start: number;
  #passage: Passage | undefined;
  /** `ok`, `aborted`, or the last part of the error's code. A stream that its reader leaves early counts as aborted. */
  #outcome = 'aborted';

  constructor(endpoint: ModelEndpoint, context: ModelCallContext, metrics: ModelMetrics, clock: Clock) {
    this.#endpoint = endpoint;
    this.#context = context;
    this.#metrics = metrics;
    this.#clock = clock;
    this.#label = endpoint.label ?? endpoint.info.id;
    this.#start = clock.monotonic();
  }

  /** Throws where the provider is not to be asked. A caller who has left is told so, and is no probe of a circuit. */
  enter(): void {
    const { circuit } = this.#endpoint;
    if (circuit === undefined) return;
    if (this.#context.signal.aborted) throw ModelErrors.aborted();
    this.#passage = circuit.enter();
  }

  /** The first chunk of a stream is there. */
  began(): void {
    this.#metrics.firstChunk.observe({ model: this.#label }, this.#seconds());
    this.#answered();
  }

  succeeded(usage: Usage | null | undefined): void {
    if (!this.hasAnswered) this.#answered();
    this.usage = usage;
    this.#outcome = 'ok';
  }

  /** The error as the caller has to see it. */
  failed(thrown: unknown): unknown {
    if (!this.hasAnswered) this.#passage?.failed(thrown);
    const error = this.#endpoint.explain?.(thrown) ?? thrown;
    this.#outcome = error instanceof GatewayError ? error.code.replace(/^model\./, '') : 'internal';
    return error;
  }

  ended(): void {
    const model = this.#label;
    if (this.usage) {
      this.#metrics.tokens.inc({ model, kind: 'input' }, this.usage.prompt_tokens);
      this.#metrics.tokens.inc({ model, kind: 'output' }, this.usage.completion_tokens);
    }
    this.#metrics.requests.inc({ model, outcome: this.#outcome });
    this.#metrics.seconds.observe({ model }, this.#seconds());
  }

  #answered(): void {
    this.hasAnswered = true;
    this.#passage?.answered();
    this.#context.answeredBy?.(this.#endpoint.info);
  }

  #seconds(): number {
    return (this.#clock.monotonic() - this.#start) / 1000;
  }
}
