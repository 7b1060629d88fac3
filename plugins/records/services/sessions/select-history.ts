import type { MessageOutline } from '../../store/sessions/session-message-row.ts';

/** How much history may be read. */
export interface HistoryBudget {
  readonly tokens: number;
  readonly bytes: number;
}

/**
 * The `seq` from which on messages are history: the newest whole turns within the budget. A turn that begins with results of tools belongs
 * to the one before it, which has the calls. Undefined where nothing fits. Pure.
 *
 * @param outlines newest first
 * @param isComplete false where older messages exist that are not among them: the oldest turn may be cut off then
 */
export function selectHistory(
  outlines: readonly MessageOutline[],
  isComplete: boolean,
  budget: HistoryBudget,
): number | undefined {
  let from: number | undefined;
  let { tokens, bytes } = budget;
  for (const [index, { seq, turn, role, tokenCount, bytes: size }] of outlines.entries()) {
    tokens -= tokenCount;
    bytes -= size;
    if (tokens < 0 || bytes < 0) break;
    const older = outlines[index + 1];
    const isFirst = older === undefined ? isComplete : older.turn !== turn;
    if (isFirst && role !== 'tool') from = seq;
  }
  return from;
}
