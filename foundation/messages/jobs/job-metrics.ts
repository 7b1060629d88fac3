import type { Clock } from '../../base/clock.ts';
import { throttledLog } from '../../base/throttle.ts';
import type { Logger } from '../../observability/logger.ts';
import type { PluginMetrics } from '../../observability/plugin-metrics.ts';
import type { QueueDepth } from './job-store.ts';

export type JobMetrics = ReturnType<typeof createJobMetrics>;

/**
 * What is counted of jobs, and the log line of a database that fails. Names of queues come from declared refs, so they
 * are few.
 */
export function createJobMetrics(metrics: PluginMetrics, clock: Clock, log: Logger) {
  const counter = (name: string, help: string) => metrics.counter({ name, help, labels: ['queue'] });
  const jobs = metrics.gauge({
    name: 'svc_jobs',
    help: 'Jobs in the table, by state: waiting, scheduled, running, dead.',
    labels: ['queue', 'state'],
  });
  const oldest = metrics.gauge({
    name: 'svc_jobs_oldest_seconds',
    help: 'How long the job that waits longest could have begun; 0 while none waits. A job that is scheduled does not wait before its time.',
    labels: ['queue'],
  });
  /** What was shown last: a queue that is empty is shown as such. */
  let shown: readonly QueueDepth[] = [];
  const dead = counter(
    'svc_jobs_dead_total',
    'Jobs whose last attempt failed here, or was found lost from here.',
  );
  return {
    /** A queue has a worker. Its first dead job is an increase to Prometheus only where there was a 0 before. */
    begin: (queue: string) => dead.inc({ queue }, 0),
    published: counter('svc_jobs_published_total', 'Jobs that were published and committed here.'),
    completed: counter('svc_jobs_completed_total', 'Jobs that were done here.'),
    failed: counter('svc_jobs_failed_total', 'Attempts of jobs that failed here.'),
    dead,
    seconds: metrics.histogram({
      name: 'svc_jobs_seconds',
      help: 'How long an attempt of a job took.',
      labels: ['queue'],
      buckets: [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 3600],
    }),
    showDepths(depths: readonly QueueDepth[]) {
      for (const { queue, state } of shown) {
        jobs.set({ queue, state }, 0);
        oldest.set({ queue }, 0);
      }
      for (const { queue, state, count, overdue } of depths) {
        jobs.set({ queue, state }, count);
        if (state === 'waiting') oldest.set({ queue }, overdue / 1000);
      }
      shown = depths;
    },
    trouble: throttledLog<unknown>(clock, (err, count) =>
      log.warn({ err, count }, 'the database failed in carrying jobs: they wait until it answers'),
    ),
  };
}
