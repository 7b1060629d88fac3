import type { Logger } from './logger.ts';
import type { RequestHeaders, TraceHeaders } from './trace-context.ts';

/** Follows requests through services (specification 1, Cross-cutting behavior; W3C Trace Context and Baggage). */
export interface Tracing extends Spans {
  /** Continues the trace of a request that came in, or starts one. */
  start(method: string, headers: RequestHeaders): RequestTrace;
  /** The same for a gRPC call; `method` is its full name, `svc.agent.v1.AgentService/GetAgent`, or `unmatched`. */
  startRpc(method: string, headers: RequestHeaders): RequestTrace;
  /** Sends what is left; resolves after two seconds at the latest, also when the collector does not answer. */
  shutdown(): Promise<void>;
}

/** The trace of one request, from the first stage of the chain to the end of the response. */
export interface RequestTrace {
  /** What to send with outbound requests. */
  headers(): TraceHeaders;
  /** 32 hexadecimal digits; undefined when neither the caller nor the gateway traces. */
  readonly traceId: string | undefined;
  /** Call it once. */
  end(outcome: TracedOutcome): void;
}

/** How a traced request ended. */
export interface TracedOutcome {
  readonly status: number;
  /** The route's pattern; names the span. Not asked of a gRPC call. */
  readonly route: string;
  readonly requestId: string;
  readonly tenantId: string | undefined;
  /** The code of the error that was sent. */
  readonly errorCode?: string | undefined;
  /** gRPC status code. */
  readonly grpcCode?: number;
}

/** Parts of traces, which the operator's collector gets. Without one they cost next to nothing. */
export interface Spans {
  /**
   * Starts a span below the one that `parent` carries (`call.traceHeaders()`); without one it starts a trace.
   *
   * @param name of few different ones, as `chat gpt-4o`: what is special about this one is an attribute
   */
  startSpan(
    name: string,
    parent: Readonly<Record<string, string>> | undefined,
    options?: SpanOptions,
  ): SpanHandle;
}

/** A span that its owner ends. */
export interface SpanHandle {
  /** What to send with outbound requests made within the span: W3C trace context headers. */
  headers(): Readonly<Record<string, string>>;
  /** Adds attributes, named by OpenTelemetry's semantic conventions where they have a name for it. */
  set(attributes: SpanAttributes): void;
  /** Call it once. What failed names the kind of failure (`error.type`), as the code of an error; never a message. */
  end(failure?: string): void;
}

/** What a span is. */
export interface SpanOptions {
  /** `client`: waits for another service (a model call); default `internal`. */
  readonly kind?: 'internal' | 'client';
  readonly attributes?: SpanAttributes;
}

/** Never content of a conversation: spans leave the machine. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface TracingOptions {
  /** OTLP gRPC endpoint, `http://host:4317` or `https://…` for TLS; undefined: nothing is recorded. */
  readonly endpoint: string | undefined;
  readonly serviceName: string;
  readonly version: string;
  readonly log: Logger;
}

/** Hands on what the parent carries. */
export const withoutSpans: Spans = {
  startSpan: (_name, parent = {}) => ({ headers: () => parent, set() {}, end() {} }),
};
