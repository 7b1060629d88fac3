import type { Answer, Entry } from './entry.ts';
import type { Hand } from './hand.ts';
import type { RunnerCore } from './runner-core.ts';

/**
 * Ends an entry that is stored, or can change nothing any more: whoever asked is told, and a delivery whose end it was leaves the hand. A result that came
 * too late is counted; that a failure was stored in the place of a result is logged, since nobody else will ever know.
 */
export function settle(
  core: Pick<RunnerCore, 'observer' | 'log'>,
  hand: Pick<Hand, 'settled'>,
  entry: Entry,
  answer: Answer,
): void {
  const { asker, effect, occurrence, original } = entry;
  asker?.tell(answer);
  if (effect === undefined) return;
  hand.settled(effect);
  if (answer.verdict === 'unchanged' && occurrence.type !== 'released') core.observer.late();
  if (original === undefined) return;
  const { tenantId, id } = answer.state;
  const fields = { tenant_id: tenantId, run_id: id, step_id: effect.fence.stepId };
  core.log.error(fields, 'the result of a step could not be stored: the step has failed');
}
