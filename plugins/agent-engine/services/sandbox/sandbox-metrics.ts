import type { Scope } from 'agent-gateway';
import type { SandboxObserver } from './sandbox-runner.ts';

/** Measures executions: how many ended how, how long the code took, and how many run and wait now. */
export function sandboxMetrics(metric: Scope['metric']): SandboxObserver {
  const runs = metric.counter({
    name: 'svc_sandbox_runs_total',
    help: 'Executions of code that have ended, by outcome.',
    labels: ['language', 'outcome'],
  });
  const seconds = metric.histogram({
    name: 'svc_sandbox_run_duration_seconds',
    help: 'Time of the code itself, without its turn and its start.',
    labels: ['language'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
  });
  const running = metric.gauge({
    name: 'svc_sandbox_running',
    help: 'Executions that run now.',
  });
  const waiting = metric.gauge({
    name: 'svc_sandbox_waiting',
    help: 'Executions that wait for their turn.',
  });
  return {
    ended(language, outcome, duration) {
      runs.inc({ language, outcome });
      if (duration > 0) seconds.observe({ language }, duration);
    },
    load(its, others) {
      running.set(its);
      waiting.set(others);
    },
  };
}
