import { type Clock, GatewayError, type Spans } from 'agent-gateway';
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
import type { LogModelFailure } from './failure-log.ts';
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
  readonly logFailure: LogModelFailure;
  readonly tracing: Spans;
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
    ModelErrors.insufficientQuota,
    ModelErrors.overloaded,
    ModelErrors.unavailable,
    ModelErrors.providerMissing,
    ModelErrors.keyUnavailable,
    ModelErrors.unknownToProvider,
  ].map(({ definition }) => definition.code),
);

/** Kinds of errors for which the log has to say which model it was; those of 429 are logged here, with its name. */
const FAILURES: ReadonlySet<GatewayError['kind']> = new Set<GatewayError['kind']>([
  'internal',
  'upstream',
  'unavailable',
  'timeout',
]);

/**
 * The two verbs of a model. Each endpoint that is asked gets its own name of the model, passes its circuit breaker, and
 * is measured and traced; when it fails before it answered, the next one is asked. Of a stream the first chunk is the
 * answer: a stream that breaks later has answered.
 */
export function createModelCall(parts: ModelCallParts): Model {
  const { info, acquire, metrics, logFailure, tracing, clock, timeout } = parts;

  async function complete(request: ChatRequest, context: ModelCallContext): Promise<ChatCompletion> {
    using chain = acquire();
    const end = clock.monotonic() + timeout;
    for (let index = 0; ; index += 1) {
      const endpoint = chain.endpoints[index]!;
      const attempt = begin(endpoint, context);
      try {
        attempt.enter();
        const model = endpoint.info.model;
        const completion = await endpoint.client.complete({ ...request, model }, attempt.context);
        attempt.succeeded(completion.usage);
        return completion;
      } catch (thrown) {
        attempt.failed(thrown, chain.endpoints[index + 1], end);
      } finally {
        attempt.ended();
      }
    }
  }

  async function* stream(request: ChatRequest, context: ModelCallContext): AsyncGenerator<ChatChunk, void> {
    using chain = acquire();
    const end = clock.monotonic() + timeout;
    for (let index = 0; ; index += 1) {
      const endpoint = chain.endpoints[index]!;
      const attempt = begin(endpoint, context);
      try {
        attempt.enter();
        const model = endpoint.info.model;
        for await (const chunk of endpoint.client.stream({ ...request, model }, attempt.context)) {
          if (!attempt.hasAnswered) attempt.began();
          // Some servers report the running total with every chunk: only the last one counts.
          if (chunk.usage) attempt.usage = chunk.usage;
          yield chunk;
        }
        attempt.succeeded(attempt.usage);
        return;
      } catch (thrown) {
        attempt.failed(thrown, chain.endpoints[index + 1], end);
      } finally {
        attempt.ended();
      }
    }
  }

  /** One endpoint being asked once. */
  function begin(
    { info: asked, circuit, label: model = asked.id, explain }: ModelEndpoint,
    context: ModelCallContext,
  ) {
    const { signal, tenantId, answeredBy } = context;
    const start = clock.monotonic();
    const span = tracing.startSpan(`chat ${model}`, context.traceHeaders, {
      kind: 'client',
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': asked.provider,
        'gen_ai.request.model': asked.model,
      },
    });
    const seconds = () => (clock.monotonic() - start) / 1000;
    let passage: Passage | undefined;
    /**
     * `ok`, `aborted`, or the last part of the error's code. A stream that its reader leaves early counts as aborted.
     */
    let outcome = 'aborted';

    function answered(): void {
      attempt.hasAnswered = true;
      passage?.answered();
      answeredBy?.(asked);
    }

    const attempt = {
      /** What the provider gets belongs to the span. */
      context: { ...context, traceHeaders: span.headers() },
      hasAnswered: false,
      /** What the call consumed, where the provider says so. */
      usage: undefined as Usage | null | undefined,
      /**
       * Throws where the provider is not to be asked. A caller that has left gets `model.aborted`, and is no probe of a
       * circuit.
       */
      enter(): void {
        if (circuit !== undefined && signal.aborted) throw ModelErrors.aborted();
        passage = circuit?.enter(tenantId);
      },
      /** The first chunk of a stream is there. */
      began(): void {
        metrics.firstChunk.observe({ model }, seconds());
        answered();
      },
      succeeded(usage: Usage | null | undefined): void {
        if (!attempt.hasAnswered) answered();
        attempt.usage = usage;
        outcome = 'ok';
      },
      /**
       * Throws the error as the caller has to see it, unless `next` is to be asked and `end` has not passed; that is
       * counted as a fallback.
       */
      failed(thrown: unknown, next: ModelEndpoint | undefined, end: number): void {
        if (!attempt.hasAnswered) passage?.failed(thrown);
        const error = explain?.(thrown) ?? thrown;
        outcome = error instanceof GatewayError ? error.code.replace(/^model\./, '') : 'internal';
        if (!(error instanceof GatewayError)) throw error;
        const mayGoOn = !attempt.hasAnswered && !signal.aborted && clock.monotonic() < end;
        const goesOn = next !== undefined && mayGoOn && WORTH_A_FALLBACK.has(error.code);
        // Other failures of the provider are answers with 5xx, which are logged where they are sent.
        if (goesOn || error.kind === 'rate-limited') logFailure(model, error);
        if (!goesOn) throw withModel(error, asked);
        metrics.fallbacks.inc({ model: info.id, fallback: next.info.id });
      },
      ended(): void {
        if (attempt.usage) {
          metrics.tokens.inc({ model, kind: 'input' }, attempt.usage.prompt_tokens);
          metrics.tokens.inc({ model, kind: 'output' }, attempt.usage.completion_tokens);
          span.set({
            'gen_ai.usage.input_tokens': attempt.usage.prompt_tokens,
            'gen_ai.usage.output_tokens': attempt.usage.completion_tokens,
          });
        }
        span.end(outcome === 'ok' ? undefined : outcome);
        metrics.requests.inc({ model, outcome });
        metrics.seconds.observe({ model }, seconds());
      },
    };
    return attempt;
  }

  return { info, complete, stream };
}

/**
 * The error with a cause that names the model, for the log of whoever reports it: a request, a step of a workflow, a
 * chat in the background. What the caller sees stays the same. Refusals, which are about the request, stay as they are.
 */
function withModel(error: GatewayError, { id, provider, model }: ModelInfo): GatewayError {
  if (!FAILURES.has(error.kind)) return error;
  const cause = new Error(`the model "${id}" (${model} of ${provider})`, { cause: error.cause });
  return new GatewayError(error, error.detail, { ...error.extras, cause });
}
