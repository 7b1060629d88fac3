import type { Scope } from 'agent-gateway';
import type { NewEvent } from './services/core/commands.ts';
import type { Execute } from './services/ports/execution.ts';
import type { NotifyResult } from './services/replica-messages.ts';

/** How a delivery of a step ended here. `aborted`: it was cancelled, lost, or given back; its result is discarded. */
export type DeliveryResult = 'succeeded' | 'failed' | 'timed-out' | 'aborted';

/** What is measured of runs. */
export type RunnerMetrics = ReturnType<typeof runnerMetrics>;

/** What is measured of the delivery of events. */
export type RelayMetrics = ReturnType<typeof relayMetrics>;

/** What is measured of workflows. */
export type WorkflowMetrics = ReturnType<typeof workflowMetrics>;

/**
 * Makes the metrics; one set for all engines of the process. The label `type` has the node types of the deployment,
 * `sink` its event sinks: both are few.
 */
export function workflowMetrics(metric: Scope['metric']) {
  const { counter, gauge } = metersOf(metric);
  const running = gauge('svc_workflow_running_steps', 'Steps that this process carries out now.');
  const runs = counter(
    'svc_workflow_runs_total',
    'Runs that were started, and that became waiting, paused, resumed, completed or cancelled, by the process that wrote it.',
    ['status'],
  );
  // The first ones are an increase to Prometheus only where there was a 0 before.
  runs.inc({ status: 'paused' }, 0);
  const hints = counter(
    'svc_workflow_hints_total',
    'Hints to the queue that there is something to do: sent, lost (the queue is full or away), failed, or dropped since too many were on their way.',
    ['result'],
  );
  return {
    runner: runnerMetrics(metric),
    relay: relayMetrics(metric),
    /** Counts the outcome of a message to the queue. */
    notified: (result: NotifyResult) => hints.inc({ result }),
    /** Counts what happened to runs; for what was committed here. */
    committed(events: readonly Pick<NewEvent, 'type'>[]) {
      for (const { type } of events) if (type.startsWith('run.')) runs.inc({ status: type.slice(4) });
    },
    /** The same work, counted while it is under way. */
    counted:
      (execute: Execute): Execute =>
      async (work) => {
        running.inc();
        try {
          return await execute(work);
        } finally {
          running.dec();
        }
      },
  };
}

/** Factories for the kinds of metrics that are used more than once. */
const metersOf = (metric: Scope['metric']) => ({
  counter: (name: string, help: string, labels: readonly string[] = []) =>
    metric.counter({ name, help, labels }),
  gauge: (name: string, help: string) => metric.gauge({ name, help }),
});

function runnerMetrics(metric: Scope['metric']) {
  const { counter, gauge } = metersOf(metric);
  const steps = counter(
    'svc_workflow_steps_total',
    'Deliveries of automatic steps that have ended here, by result.',
    ['type', 'result'],
  );
  const seconds = metric.histogram({
    name: 'svc_workflow_step_seconds',
    help: 'Duration of deliveries of automatic steps.',
    labels: ['type'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
  });
  const commits = counter(
    'svc_workflow_commits_total',
    'Changes of runs: stored, in conflict with another one and done again, or unknown since the database did not answer.',
    ['result'],
  );
  const redeliveries = counter(
    'svc_workflow_redeliveries_total',
    'Attempts of steps that began again, because the worker that had them was lost or stopped.',
    ['type'],
  );
  const late = counter('svc_workflow_late_results_total', 'Results that came for deliveries that were over.');
  const abandoned = gauge('svc_workflow_abandoned_calls', 'Calls that go on although they were aborted.');
  const swept = counter(
    'svc_workflow_swept_total',
    'What sweeps found of which no notice had come: due runs, orphans of lost workers, runs that were changed elsewhere.',
    ['finding'],
  );
  const expired = counter(
    'svc_workflow_lease_expired_total',
    'How often this process lost its lease while it was at work, and gave up what it had in hand.',
  );
  return {
    /** A delivery ended after so many milliseconds. */
    delivered(type: string, result: DeliveryResult, ms: number) {
      steps.inc({ type, result });
      seconds.observe({ type }, ms / 1_000);
    },
    /** An attempt began again, because its worker was lost or stopped. */
    redelivered: (type: string) => redeliveries.inc({ type }),
    /** The outcome of a write. `unknown`: the database did not answer, and it may be stored or not. */
    committed: (result: 'stored' | 'conflict' | 'unknown') => commits.inc({ result }),
    /** A result came for a delivery that was over: another worker has the step, or the run was cancelled. */
    late: () => late.inc(),
    /**
     * `1`: a call goes on although its signal was aborted; `-1`: such a call has ended. The sum is the number of calls
     * that leak now.
     */
    abandoned: (change: 1 | -1) => abandoned.inc(change),
    /** What a sweep found without a message. `drifted`: a run that is owned here, and was changed elsewhere. */
    found: (finding: 'due' | 'orphan' | 'drifted', count: number) => swept.inc({ finding }, count),
    /** The lease of this worker ended while it was at work: all of its steps were given up. */
    expired: () => expired.inc(),
  };
}

function relayMetrics(metric: Scope['metric']) {
  const { counter } = metersOf(metric);
  const deliveries = counter(
    'svc_workflow_outbox_deliveries_total',
    'Deliveries of events to sinks, by result.',
    ['sink', 'result'],
  );
  const delivered = counter('svc_workflow_outbox_events_total', 'Events that sinks have taken.', ['sink']);
  const seconds = metric.histogram({
    name: 'svc_workflow_outbox_delay_seconds',
    help: 'Time from an event to its delivery.',
    labels: ['sink'],
    buckets: [0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 3_600, 86_400],
  });
  const givenUp = counter(
    'svc_workflow_outbox_given_up_total',
    'Events that were given up: refused when older than three days, or their sink was away for as long.',
    ['sink'],
  );
  return {
    /**
     * There is a sink. The first event that it makes us give up is an increase to Prometheus only where there was a 0
     * before.
     */
    began: (sink: string) => givenUp.inc({ sink }, 0),
    /** A sink took so many events, the oldest of them so many milliseconds after it was written. */
    delivered(sink: string, events: number, delayMs: number) {
      deliveries.inc({ sink, result: 'delivered' });
      delivered.inc({ sink }, events);
      seconds.observe({ sink }, delayMs / 1_000);
    },
    /** A sink did not take them; they come again. */
    failed: (sink: string) => deliveries.inc({ sink, result: 'failed' }),
    /** So many events for a sink were given up. */
    gaveUp: (sink: string, events: number) => givenUp.inc({ sink }, events),
  };
}
