import { Counter, Histogram, type Registry } from 'prom-client';
import type { QueueObserver } from './queue.ts';

/** The metrics of the queue: `svc_queue_published_total`, `svc_queue_deliveries_total` and `svc_queue_delivery_seconds`. */
export function createQueueMetrics(registry: Registry): QueueObserver {
  const registers = [registry];
  const published = new Counter({
    name: 'svc_queue_published_total',
    help: 'Messages that were published, by what became of them: ok, full, away, none.',
    labelNames: ['queue', 'result'],
    registers,
  });
  const deliveries = new Counter({
    name: 'svc_queue_deliveries_total',
    help: 'Messages that were delivered here, by their end: ok, failed, timeout, stopped, invalid.',
    labelNames: ['queue', 'result'],
    registers,
  });
  const seconds = new Histogram({
    name: 'svc_queue_delivery_seconds',
    help: 'How long handlers worked on a message.',
    labelNames: ['queue'],
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300],
    registers,
  });
  return {
    published: (queue, result) => published.inc({ queue, result }),
    delivered: (queue, result, took) => {
      deliveries.inc({ queue, result });
      if (result !== 'invalid') seconds.observe({ queue }, took);
    },
  };
}
