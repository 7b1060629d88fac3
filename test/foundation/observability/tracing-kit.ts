import type { ExecutionContext } from 'ava';
import { createTracing } from '../../../foundation/observability/create-tracing.ts';
import { createLogger } from '../../../foundation/observability/logger.ts';
import type { TracedOutcome, Tracing } from '../../../foundation/observability/tracing.ts';
import { type Collector, startCollector } from './otlp-collector.ts';

export const TRACE = '0af7651916cd43dd8448eb211c80319c';
export const SPAN = 'b7ad6b7169203331';
/** Headers of a caller that is traced. */
export const incoming = {
  traceparent: `00-${TRACE}-${SPAN}-01`,
  tracestate: 'vendor=1',
  baggage: 'user=alice',
};
export const outcome: TracedOutcome = {
  status: 200,
  route: '/v1/tenants/{id}',
  requestId: 'r1',
  tenantId: 't1',
};

/** Tracing to this endpoint, and what it logs. */
export async function record(endpoint: string | undefined): Promise<{ tracing: Tracing; log: string[] }> {
  const log: string[] = [];
  const { logger } = createLogger({ level: 'info', destination: { write: (line) => log.push(line) } });
  const tracing = await createTracing({
    endpoint,
    serviceName: 'gateway',
    version: '2.4.0',
    log: logger,
  });
  return { tracing, log };
}

/** A collector that ends with the test. */
export async function collector(t: ExecutionContext, options?: { answer: boolean }): Promise<Collector> {
  const started = await startCollector(options);
  t.teardown(() => started.close());
  return started;
}
