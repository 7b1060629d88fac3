import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger } from './logger.ts';

/**
 * An exporter that logs when spans are lost: at the first failure, then with every hundredth, and when the
 * collector takes them again. The SDK itself would say nothing.
 */
export function reportingExporter(exporter: SpanExporter, log: Logger): SpanExporter {
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
