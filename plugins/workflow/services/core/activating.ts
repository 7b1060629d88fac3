import { type Draft, putStep } from './draft.ts';
import { failStep, finishStep } from './finishing.ts';
import { maxStepsExceeded } from './problems.ts';
import type { StepState } from './run-state.ts';
import { MAX_STEPS_EXCEEDED } from './run-status.ts';

/**
 * Begins an attempt of a step: `start` and `end` complete at once, an automatic step waits for a worker, a human task until `openTasks`. Where the
 * run has activated all the steps that it may, the step fails instead (decisions 2.6).
 *
 * @param step a pending step that is not written yet
 */
export function activate(draft: Draft, step: StepState): void {
  const node = draft.graph.nodes.get(step.nodeId)!;
  const { maxSteps } = draft.facts.limits;
  const old = draft.steps.get(step.nodeId);
  const isCounted = old !== undefined && old.error?.code !== MAX_STEPS_EXCEEDED;
  if (!isCounted && draft.tally.activated >= maxSteps) {
    failStep(draft, step, maxStepsExceeded(node, maxSteps));
    return;
  }
  switch (node.behavior) {
    case 'automatic':
    case 'human':
      putStep(draft, step);
      break;
    case 'start':
    case 'end':
      finishStep(draft, step, {});
  }
}
