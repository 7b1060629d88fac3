import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Finding, TextOrigin } from '../../contract.ts';

/** Characters that are looked at in one go: some milliseconds of work, a fifth of a second for hostile text. */
export const PIECE = 64 * 1024;
/** Characters that two pieces share, so that what lies across their border is seen whole. */
export const OVERLAP = 4 * 1024;

/** Looks at a long text piece by piece, and lets others work in between. */
export async function checkInPieces(
  text: string,
  origin: TextOrigin,
  check: (text: string, origin: TextOrigin) => Finding | undefined,
): Promise<Finding | undefined> {
  for (let start = 0; start === 0 || start + OVERLAP < text.length; start += PIECE - OVERLAP) {
    const finding = check(text.slice(start, start + PIECE), origin);
    if (finding !== undefined) return finding;
    await nextTurn();
  }
  return undefined;
}
