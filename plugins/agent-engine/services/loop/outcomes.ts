import type { Outcome } from './frame.ts';

/** Characters of one result that reach the model. */
export const MAX_RESULT = 64 * 1024;

/** Words to the model about a call that was not made, or that failed. */
export function notRun(message: string): Outcome {
  return { content: cut(`Error: ${message}`, MAX_RESULT), isError: true };
}

/** The beginning of a text, with a note where something is left out. Never half a character. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const note = `\n[cut: ${text.length} characters in all]`;
  return text.slice(0, Math.max(0, most - note.length)).toWellFormed() + note;
}
