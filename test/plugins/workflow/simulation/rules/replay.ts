import type { StepStatus } from '../../../../../plugins/workflow/contract.ts';
import type { NewEvent } from '../../../../../plugins/workflow/services/core/commands.ts';
import type { RunState } from '../../../../../plugins/workflow/services/core/state.ts';

/**
 * What a reader of the events alone believes of each step. `open`: it is not over, and nobody can tell more from
 * events.
 */
type Believed = Exclude<StepStatus, 'pending' | 'running'> | 'open';

/** Says where the fold of a run's events tells something else than its state. */
export function checkReplay(state: RunState, events: readonly NewEvent[]): string[] {
  const steps = new Map<string, Believed>();
  let status = 'none';
  for (const { type, nodeId } of events) {
    if (type.startsWith('run.')) status = type.slice('run.'.length);
    if (nodeId === null) continue;
    if (type === 'step.started') steps.set(nodeId, 'open');
    if (type === 'step.completed') steps.set(nodeId, 'completed');
    if (type === 'step.failed') steps.set(nodeId, 'failed');
    if (type === 'step.skipped') steps.set(nodeId, 'skipped');
    if (type === 'step.cancelled') steps.set(nodeId, 'cancelled');
    if (type === 'task.created') steps.set(nodeId, 'waiting');
  }
  const wrong: string[] = [];
  const expected = status === 'started' || status === 'resumed' ? 'running' : status;
  if (expected !== state.status) wrong.push(`events say the run is ${expected}, it is ${state.status}`);
  for (const step of state.steps.values()) {
    const believed = steps.get(step.nodeId);
    const isOpen = step.status === 'pending' || step.status === 'running';
    // A failure that is tried again, or a delivery that was lost, is told as a failure or not at all: the step is open.
    const fits = isOpen
      ? !/completed|skipped|cancelled|waiting/.test(believed ?? '')
      : believed === step.status;
    if (!fits) wrong.push(`events say ${step.nodeId} is ${believed}, it is ${step.status}`);
  }
  for (const nodeId of steps.keys()) {
    if (!state.steps.has(nodeId)) wrong.push(`events tell of ${nodeId}, which has no step`);
  }
  return wrong;
}
