import type { StepStatus } from '../../../../../plugins/workflow/contract/runs.ts';
import type { NewEvent } from '../../../../../plugins/workflow/services/core/commands.ts';

/** What somebody knows of a run who reads its events alone. */
export function foldEvents(events: readonly NewEvent[]) {
  const steps = new Map<string, StepStatus>();
  let status = '';
  for (const { type, nodeId, data } of events) {
    const [about, what] = type.split('.') as [string, string | undefined];
    if (about === 'run') {
      status = what === 'started' || what === 'resumed' ? 'running' : what!;
      // A retry begins again what had failed; otherwise nothing is failed when a run resumes.
      if (what === 'resumed') for (const [node, one] of steps) if (one === 'failed') steps.delete(node);
    } else if (type === 'step.started') steps.set(nodeId!, 'running');
    else if (type === 'task.created') steps.set(nodeId!, 'waiting');
    else if (type === 'step.failed' && 'retry_at' in data) steps.delete(nodeId!);
    else if (about === 'step') steps.set(nodeId!, what as StepStatus);
  }
  return { status, steps };
}
