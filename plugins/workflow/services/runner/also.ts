import type { StepResult } from '../../contract/node-types.ts';
import type { TransitionResult } from '../core/commands.ts';
import type { Entry } from './entry.ts';

/** The writes of a result go into the commit in which its step is completed, and into no other. Such a result is alone in its batch (`Entries.take`). */
export function alsoOf(batch: readonly Entry[], { state, verdicts }: TransitionResult): StepResult['also'] {
  const entry = batch[0];
  if (entry?.also === undefined || entry.occurrence.type !== 'succeeded' || verdicts[0] !== 'applied') return;
  const { stepId } = entry.occurrence.fence;
  const step = state.steps.values().find(({ id }) => id === stepId);
  return step?.status === 'completed' ? entry.also : undefined;
}
