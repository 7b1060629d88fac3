import type { WorkflowSettings } from '../../config.ts';
import type { WorkflowLimits } from '../../contract/engine.ts';

/** The limits that the plugin's configuration sets for every engine. */
export function limitsOf(settings: WorkflowSettings): WorkflowLimits {
  return {
    maxSteps: settings.max_steps,
    stepTimeoutMs: settings.step_timeout,
    leaseMs: settings.lease,
    sweepIntervalMs: settings.sweep_interval,
    concurrency: settings.concurrency,
  };
}
