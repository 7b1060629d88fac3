import type { PluginMetrics } from 'agent-gateway';

/** What is measured of executions of code. */
export type SandboxMetrics = ReturnType<typeof sandboxMetrics>;

/** Declares the metrics of executions: how many ended how, how long the code took, and how many run and wait now. */
export function sandboxMetrics(metric: PluginMetrics) {
  return {
    /** `outcome`: the result's status, `aborted`, or the error's code without `sandbox.` */
    runs: metric.counter({
      name: 'svc_sandbox_runs_total',
      help: 'Executions of code that have ended, by outcome.',
      labels: ['language', 'outcome'],
    }),
    seconds: metric.histogram({
      name: 'svc_sandbox_run_duration_seconds',
      help: 'Time of the code itself, without its turn and its start.',
      labels: ['language'],
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
    }),
    running: metric.gauge({
      name: 'svc_sandbox_running',
      help: 'Executions that run now.',
    }),
    waiting: metric.gauge({
      name: 'svc_sandbox_waiting',
      help: 'Executions that wait for their turn.',
    }),
  };
}
