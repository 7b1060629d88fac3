import type { FieldError } from 'agent-gateway';
import { metadataProblems, type NewMemory } from '../../contract.ts';

/** Memories that a user may have. */
export const MAX_MEMORIES = 1000;
/** Characters of a value. */
const MAX_VALUE = 8192;

// A URL cannot name `.` and `..`, so such a memory could not be deleted over HTTP.
const KEY = /^(?!\.{1,2}$)[^\p{Cc}\p{Cs}]{1,128}$/u;
const USER = /^[^\p{Cc}\p{Cs}]{1,255}$/u;

/** True for an id that a user can have (`X-Svc-User-Id`). */
export function isUserId(userId: string): boolean {
  return USER.test(userId);
}

/** Everything that is wrong with a memory; empty for a good one. */
export function memoryProblems(userId: string, memory: NewMemory): readonly FieldError[] {
  const problems: FieldError[] = [];
  if (!isUserId(userId)) problems.push(userProblem);
  if (memory.key !== undefined && !KEY.test(memory.key)) {
    problems.push({
      pointer: '/key',
      message: 'key must be 1 to 128 characters without control characters, and neither . nor ..',
    });
  }
  if (memory.value === '' || isLongerThan(memory.value, MAX_VALUE)) {
    problems.push({ pointer: '/value', message: `value must be 1 to ${MAX_VALUE} characters` });
  }
  return [...problems, ...metadataProblems(memory.metadata, '/metadata')];
}

/** What is said about a user id that cannot be kept. */
export const userProblem: FieldError = {
  pointer: '/headers/x-svc-user-id',
  message: 'X-Svc-User-Id must be 1 to 255 characters without control characters',
};

/** Characters are code points, as databases count them; most texts are short enough to need no counting. */
function isLongerThan(text: string, most: number): boolean {
  if (text.length <= most) return false;
  if (text.length > 2 * most) return true;
  let count = 0;
  for (const _ of text) count += 1;
  return count > most;
}
