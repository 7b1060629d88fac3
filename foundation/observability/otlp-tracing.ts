import {
  type Attributes,
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import { DeadlineError, within } from '../base/deadline.ts';
import type { Logger } from './logger.ts';
import { redactText } from './redact-text.ts';
import {
  type RequestHeaders,
  readTraceContext,
  type TraceContext,
  type TraceHeaders,
  writeTraceContext,
} from './trace-context.ts';
import type {
  RequestTrace,
  SpanAttributes,
  SpanHandle,
  SpanOptions,
  TracedOutcome,
  Tracing,
  TracingOptions,
} from './tracing.ts';

/**
 * Records spans and sends them by OTLP over gRPC. Nothing is registered globally and no library is patched: spans are
 * made where the code says so, with their parent passed explicitly; `sdk-node` would register for the process
 * (docs/dependencies.md). Certificates and headers of the collector come from OpenTelemetry's own variables
 * (`OTEL_EXPORTER_OTLP_CERTIFICATE`, `OTEL_EXPORTER_OTLP_HEADERS`).
 */
export function createOtlpTracing(options: TracingOptions & { readonly endpoint: string }): Tracing {
  const { endpoint, serviceName, version, log } = options;
  const exporter = new OTLPTraceExporter({
    url: endpoint,
    timeoutMillis: EXPORT_TIMEOUT_MILLISECONDS,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName, 'service.version': version }),
    spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE, attributeCountLimit: 64 },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reportingExporter(exporter, log),
        maxQueueSize: 4096,
        maxExportBatchSize: 512,
        scheduledDelayMillis: 1000,
        exportTimeoutMillis: 2 * EXPORT_TIMEOUT_MILLISECONDS,
      }),
    ],
  });
  const tracer = provider.getTracer('agent-gateway', version);
  return {
    start: (method, headers) => new RecordedHttpRequest(tracer, method, headers),
    startRpc: (method, headers) => new RecordedRpc(tracer, method, headers),
    startSpan: (name, parent, spanOptions) =>
      startSpan(tracer, name, readTraceContext(parent ?? {}), spanOptions),
    shutdown: () => shutdownInTime(provider, log),
  };
}

const EXPORT_TIMEOUT_MILLISECONDS = 5000;
const SHUTDOWN_DEADLINE_MILLISECONDS = 2000;
const MAX_ATTRIBUTE = 1024;

async function shutdownInTime(provider: TracerProvider, log: TracingOptions['log']): Promise<void> {
  try {
    await within(SHUTDOWN_DEADLINE_MILLISECONDS, 'sending the last spans', provider.shutdown());
  } catch (error) {
    if (error instanceof DeadlineError) log.warn('the trace collector did not take the last spans in time');
    else log.warn({ err: error }, 'the trace collector did not take the last spans');
  }
}

/**
 * An exporter that logs when spans are lost: at the first failure, then with every hundredth, and when the
 * collector takes them again. The SDK itself would say nothing.
 */
function reportingExporter(exporter: SpanExporter, log: Logger): SpanExporter {
  let failures = 0;
  let lostSpans = 0;

  function report(error: Error | undefined, spans: number): void {
    if (error === undefined) {
      if (failures > 0) log.info({ lost_spans: lostSpans }, 'the trace collector takes spans again');
      failures = 0;
      lostSpans = 0;
      return;
    }
    lostSpans += spans;
    if (failures % REPORT_EVERY === 0) {
      log.warn({ err: error, lost_spans: lostSpans }, 'the trace collector does not take spans');
    }
    failures += 1;
  }

  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const failure =
          result.code === SUCCESS ? undefined : (result.error ?? new Error('span export failed'));
        report(failure, spans.length);
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}

const REPORT_EVERY = 100;
/** `ExportResultCode.SUCCESS` of @opentelemetry/core. */
const SUCCESS = 0;

const KINDS = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT } as const;

function startSpan(
  tracer: Tracer,
  name: string,
  parent: TraceContext,
  options: SpanOptions = {},
): SpanHandle {
  const { kind = 'internal', attributes = {} } = options;
  const span = tracer.startSpan(
    redactText(name),
    { kind: KINDS[kind], attributes: withoutSecrets(attributes) },
    toContext(parent),
  );
  return {
    headers: () => writeTraceContext(contextOf(span, parent.baggage)),
    set: (added) => void span.setAttributes(withoutSecrets(added)),
    end(failure) {
      if (failure !== undefined) {
        span.setAttribute('error.type', redactText(failure));
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    },
  };
}

/** The server span of a request. What it is called and which attributes it has is the transport's convention. */
abstract class RecordedRequest implements RequestTrace {
  protected readonly span: Span;
  readonly #baggage: string | undefined;

  constructor(tracer: Tracer, name: string, attributes: Attributes, headers: RequestHeaders) {
    const incoming = readTraceContext(headers);
    const agent = headers['user-agent'];
    if (typeof agent === 'string') attributes['user_agent.original'] = redactText(agent);
    this.#baggage = incoming.baggage;
    this.span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, toContext(incoming));
  }

  get traceId(): string {
    return this.span.spanContext().traceId;
  }

  headers(): TraceHeaders {
    return writeTraceContext(contextOf(this.span, this.#baggage));
  }

  end(outcome: TracedOutcome): void {
    const { status, requestId, tenantId, errorCode } = outcome;
    this.conclude(outcome);
    this.span.setAttributes({
      'svc.request_id': requestId,
      ...(tenantId === undefined ? {} : { 'svc.tenant_id': tenantId }),
      ...(errorCode === undefined ? {} : { 'svc.error_code': errorCode }),
      ...(status < 500 ? {} : { 'error.type': errorCode ?? String(status) }),
    });
    // Of a server's span, the caller's mistakes (4xx) are no errors.
    if (status >= 500) this.span.setStatus({ code: SpanStatusCode.ERROR });
    this.span.end();
  }

  /** Adds what the transport reports of the end. */
  protected abstract conclude(outcome: TracedOutcome): void;
}

/** The stable HTTP semantic conventions. */
class RecordedHttpRequest extends RecordedRequest {
  readonly #method: string;

  constructor(tracer: Tracer, method: string, headers: RequestHeaders) {
    const isKnown = KNOWN_METHODS.has(method);
    // The raw path is left out: it may hold one-time links, and the route says what was called.
    const attributes: Attributes = { 'http.request.method': isKnown ? method : '_OTHER' };
    super(tracer, isKnown ? method : 'HTTP', attributes, headers);
    this.#method = isKnown ? method : 'HTTP';
  }

  protected conclude({ status, route }: TracedOutcome): void {
    this.span.updateName(`${this.#method} ${route}`);
    this.span.setAttributes({ 'http.route': route, 'http.response.status_code': status });
  }
}

/** The semantic conventions of gRPC; the span has the name of the method. */
class RecordedRpc extends RecordedRequest {
  constructor(tracer: Tracer, method: string, headers: RequestHeaders) {
    const [service = '', name] = method.split('/');
    const attributes = name === undefined ? {} : { 'rpc.service': service, 'rpc.method': name };
    super(tracer, method, { 'rpc.system': 'grpc', ...attributes }, headers);
  }

  protected conclude({ grpcCode }: TracedOutcome): void {
    if (grpcCode !== undefined) this.span.setAttribute('rpc.grpc.status_code', grpcCode);
  }
}

const KNOWN_METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'CONNECT',
  'TRACE',
]);

function toContext({ parent, state }: TraceContext): Context {
  if (parent === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: parent.traceId,
    spanId: parent.spanId,
    traceFlags: parent.isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...(state === undefined ? {} : { traceState: createTraceState(state) }),
  });
}

function contextOf(span: Span, baggage: string | undefined): TraceContext {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  return {
    parent: { traceId, spanId, isSampled: (traceFlags & TraceFlags.SAMPLED) !== 0 },
    state: traceState?.serialize() || undefined,
    baggage,
  };
}

function withoutSecrets(attributes: SpanAttributes): Attributes {
  const safe: Attributes = {};
  for (const [name, value] of Object.entries(attributes)) {
    safe[name] = typeof value === 'string' ? redactText(value) : value;
  }
  return safe;
}
