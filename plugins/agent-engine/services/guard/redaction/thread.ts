import { count, newTally, type Pattern, type Step, type Tally } from './pattern.ts';

/** One attempt at one pattern, from the end of its prefix on. Positions count UTF-16 units from the text's beginning. */
export interface Thread {
  readonly pattern: Pattern;
  /** The pattern's place in the table: of two that begin together, the earlier one gives the name. */
  readonly order: number;
  /** Where the secret begins; -1 as long as only what stands before it was seen. */
  start: number;
  /** Where the secret ends as far as it is known now; -1 while it is undecided whether this is one. Once set, it only grows. */
  end: number;
  /** False when it can grow no more. */
  isAlive: boolean;
  step: number;
  /** Characters that the step has taken; for `through`, of its text. */
  taken: number;
  readonly tally: Tally | undefined;
  isJudged: boolean;
}

/** An attempt at a pattern whose prefix has just been read; `start` is where that began. */
export function startThread(pattern: Pattern, order: number, start: number): Thread {
  const tally = pattern.steps.some(({ type }) => type === 'judged') ? newTally() : undefined;
  return {
    pattern,
    order,
    start: pattern.secretFrom < 0 ? start : -1,
    end: -1,
    isAlive: true,
    step: 0,
    taken: 0,
    tally,
    isJudged: false,
  };
}

/** Reads the character at `position`, given as its entry in the classes. */
export function advance(thread: Thread, unit: number, position: number): void {
  const { steps, secretFrom } = thread.pattern;
  for (;;) {
    const step = steps[thread.step];
    if (step === undefined) break;
    if (takes(thread, step, unit, position)) {
      if (thread.start < 0 && thread.step >= secretFrom) thread.start = position;
      if (thread.start >= 0 && isComplete(thread)) thread.end = position + 1;
      return;
    }
    if (!isSatisfied(thread, step)) break;
    thread.step += 1;
    thread.taken = 0;
  }
  thread.isAlive = false;
}

/** Says that no character follows. */
export function finish(thread: Thread, position: number): void {
  while (thread.isAlive) {
    const step = thread.pattern.steps[thread.step];
    if (step?.type === 'unless') thread.end = position;
    if (step === undefined || step.type === 'unless' || !isSatisfied(thread, step)) thread.isAlive = false;
    else {
      thread.step += 1;
      thread.taken = 0;
    }
  }
}

function takes(thread: Thread, step: Step, unit: number, position: number): boolean {
  switch (step.type) {
    case 'run':
      if (step.of[unit] === 0 || thread.taken >= step.max) return false;
      break;
    case 'judged':
      if (step.of[unit] === 0 || (!thread.isJudged && thread.taken >= step.limit)) return false;
      if (!thread.isJudged) {
        count(thread.tally!, unit);
        thread.isJudged = thread.taken + 1 >= step.min && step.judge(thread.tally!);
      }
      break;
    case 'unless':
      if (step.of[unit] === 0) thread.end = position;
      return false;
    case 'before':
      if (step.mark[unit] === 1) thread.end = position;
      if (step.of[unit] === 0 || thread.taken >= step.max) return false;
      break;
    case 'through':
      if (thread.taken === step.text.length) return false;
      while (thread.taken > 0 && step.text[thread.taken]![unit] === 0)
        thread.taken = step.failures[thread.taken]!;
      thread.taken += step.text[thread.taken]![unit]!;
      return true;
  }
  thread.taken += 1;
  return true;
}

/** True when the step has all that it needs, and the next one may begin. */
function isSatisfied(thread: Thread, step: Step): boolean {
  switch (step.type) {
    case 'run':
      return thread.taken >= step.min;
    case 'judged':
      return thread.isJudged;
    case 'through':
      return thread.taken === step.text.length;
    default:
      return false;
  }
}

/** True when what was read is a whole credential already. */
function isComplete(thread: Thread): boolean {
  const { steps } = thread.pattern;
  const step = steps[thread.step]!;
  if (step.type !== 'through' && !isSatisfied(thread, step)) return false;
  for (let index = thread.step + 1; index < steps.length; index += 1) {
    if (!isOptional(steps[index]!)) return false;
  }
  return true;
}

/** True for a step without which a credential is one, too. A block that never ends is one. */
function isOptional(step: Step): boolean {
  return step.type === 'through' || (step.type === 'run' && step.min === 0);
}
