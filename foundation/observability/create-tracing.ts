import {
  type RequestHeaders,
  readTraceContext,
  type TraceContext,
  type TraceHeaders,
  writeTraceContext,
} from './trace-context.ts';
import { type RequestTrace, type Tracing, type TracingOptions, withoutSpans } from './tracing.ts';

/**
 * With an endpoint, records spans and sends them in batches, off the request path. Without one, W3C headers of the
 * caller pass through to outbound requests and nothing else happens; OpenTelemetry is then not even loaded.
 */
export async function createTracing(options: TracingOptions): Promise<Tracing> {
  if (options.endpoint === undefined) return passThroughTracing;
  const { createOtlpTracing } = await import('./otlp-tracing.ts');
  return createOtlpTracing({ ...options, endpoint: options.endpoint });
}

const passThroughTracing: Tracing = {
  ...withoutSpans,
  start: (_method, headers) => new PassThroughTrace(headers),
  startRpc: (_method, headers) => new PassThroughTrace(headers),
  shutdown: async () => undefined,
};

/** Hands the caller's headers on. They are read at the first use: most requests make no outbound ones. */
class PassThroughTrace implements RequestTrace {
  readonly #incoming: RequestHeaders;
  #context: TraceContext | undefined;

  constructor(incoming: RequestHeaders) {
    this.#incoming = incoming;
  }

  get #read(): TraceContext {
    this.#context ??= readTraceContext(this.#incoming);
    return this.#context;
  }

  get traceId(): string | undefined {
    return this.#read.parent?.traceId;
  }

  headers(): TraceHeaders {
    return writeTraceContext(this.#read);
  }

  end(): void {}
}
