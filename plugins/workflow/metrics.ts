import type { Scope } from 'agent-gateway';
import type { NewEvent } from './services/core/commands.ts';
import type { RelayObserver } from './services/delivery/relay-observer.ts';
import type { WakeResult } from './services/engine/wake.ts';
import type { Execute } from './services/ports/execution.ts';
import type { RunnerObserver } from './services/ports/runner-observer.ts';

/** What is measured of workflows. One set for all engines of the process. */
export interface WorkflowMetrics {
  readonly runner: RunnerObserver;
  readonly relay: RelayObserver;
  /** Counts what became of a hint to the queue. */
  hinted(result: WakeResult): void;
  /** Counts what happened to runs; for what was committed here. */
  committed(events: readonly Pick<NewEvent, 'type'>[]): void;
  /** The same work, counted while it is under way. */
  counted(execute: Execute): Execute;
}

/** Makes the metrics. The label `type` has the node types of the deployment, `sink` its event sinks: both are few. */
export function workflowMetrics(metric: Scope['metric']): WorkflowMetrics {
  const running = metric.gauge({
    name: 'svc_workflow_running_steps',
    help: 'Steps that this process carries out now.',
  });
  const runs = metric.counter({
    name: 'svc_workflow_runs_total',
    help: 'Runs that were started, and that became waiting, paused, resumed, completed or cancelled, by the process that wrote it.',
    labels: ['status'],
  });
  const hints = metric.counter({
    name: 'svc_workflow_hints_total',
    help: 'Hints to the queue that there is something to do: sent, lost (the queue is full or away), failed, or dropped since too many were on their way.',
    labels: ['result'],
  });
  return {
    hinted: (result) => hints.inc({ result }),
    runner: runnerMetrics(metric),
    relay: relayMetrics(metric),
    committed(events) {
      for (const { type } of events) if (type.startsWith('run.')) runs.inc({ status: type.slice(4) });
    },
    counted: (execute) => async (work) => {
      running.inc();
      try {
        return await execute(work);
      } finally {
        running.dec();
      }
    },
  };
}

function runnerMetrics(metric: Scope['metric']): RunnerObserver {
  const steps = metric.counter({
    name: 'svc_workflow_steps_total',
    help: 'Deliveries of automatic steps that have ended here, by result.',
    labels: ['type', 'result'],
  });
  const seconds = metric.histogram({
    name: 'svc_workflow_step_seconds',
    help: 'Duration of deliveries of automatic steps.',
    labels: ['type'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
  });
  const commits = metric.counter({
    name: 'svc_workflow_commits_total',
    help: 'Changes of runs: stored, in conflict with another one and done again, or unknown since the database did not answer.',
    labels: ['result'],
  });
  const redeliveries = metric.counter({
    name: 'svc_workflow_redeliveries_total',
    help: 'Attempts of steps that began again, because whoever had them was lost or stopped.',
    labels: ['type'],
  });
  const late = metric.counter({
    name: 'svc_workflow_late_results_total',
    help: 'Results that came for deliveries that were over.',
  });
  const abandoned = metric.gauge({
    name: 'svc_workflow_abandoned_calls',
    help: 'Calls that go on although they were aborted.',
  });
  const swept = metric.counter({
    name: 'svc_workflow_swept_total',
    help: 'What sweeps found although nobody told: due runs, orphans of lost workers, runs that were changed elsewhere.',
    labels: ['finding'],
  });
  const expired = metric.counter({
    name: 'svc_workflow_lease_expired_total',
    help: 'How often this process lost its lease while it was at work, and gave up what it had in hand.',
  });
  return {
    delivered(type, result, ms) {
      steps.inc({ type, result });
      seconds.observe({ type }, ms / 1_000);
    },
    redelivered: (type) => redeliveries.inc({ type }),
    committed: (result) => commits.inc({ result }),
    late: () => late.inc(),
    abandoned: (change) => abandoned.inc(change),
    found: (finding, count) => swept.inc({ finding }, count),
    expired: () => expired.inc(),
  };
}

function relayMetrics(metric: Scope['metric']): RelayObserver {
  const deliveries = metric.counter({
    name: 'svc_workflow_outbox_deliveries_total',
    help: 'Deliveries of events to sinks, by result.',
    labels: ['sink', 'result'],
  });
  const delivered = metric.counter({
    name: 'svc_workflow_outbox_events_total',
    help: 'Events that sinks have taken.',
    labels: ['sink'],
  });
  const seconds = metric.histogram({
    name: 'svc_workflow_outbox_delay_seconds',
    help: 'Time from an event to its delivery.',
    labels: ['sink'],
    buckets: [0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 3_600, 86_400],
  });
  const givenUp = metric.counter({
    name: 'svc_workflow_outbox_given_up_total',
    help: 'Events that were given up: refused when older than three days, or their sink was away for as long.',
    labels: ['sink'],
  });
  return {
    delivered(sink, events, delayMs) {
      deliveries.inc({ sink, result: 'delivered' });
      delivered.inc({ sink }, events);
      seconds.observe({ sink }, delayMs / 1_000);
    },
    failed: (sink) => deliveries.inc({ sink, result: 'failed' }),
    gaveUp: (sink, events) => givenUp.inc({ sink }, events),
  };
}
