import type { GatewayError } from 'agent-gateway';
import type { AnswerPart, OutputGuard, OutputVerdict } from '../../../contract.ts';
import { type GuardAtWork, refusal, VerdictError } from './opened-guards.ts';

/** Characters that a guard may hold back. */
export const MAX_HELD = 64 * 1024;

/** A text on its way through guards. */
export interface GuardedText {
  /** What may leave now. Throws what a guard refuses with, and `guard.failed`. */
  push(text: string): Promise<string>;
  /** The rest. */
  end(): Promise<string>;
  /** True once a guard has ended the answer; what comes after is left out. */
  isEnded(): boolean;
}

/** What a verdict means for the text that it is about. */
interface Applied {
  readonly leaves: string;
  readonly held: string;
  readonly isEnded?: boolean;
  readonly refused?: GatewayError;
}

/** Passes a text through guards, in their order. Undefined when none looks at this part. */
export function guardText(guards: readonly GuardAtWork[], part: AnswerPart): GuardedText | undefined {
  const stages: Stage[] = [];
  for (const guard of guards) {
    if (guard.isOut() || guard.output === undefined) continue;
    // `output` has to return at once: a promise counts as a failure.
    const look = guard.ask(
      'output',
      () => ({ at: asLook(guard.output?.(part)) }),
      ({ at }) => at,
    ) as OutputGuard | undefined;
    if (look !== undefined) stages.push(createStage(guard, look));
  }
  if (stages.length === 0) return undefined;
  let isEnded = false;

  /**
   * Passes a text, or the end, from stage to stage. If a stage ends the answer, the stages behind it see the end too.
   */
  async function pass(text: string, isEnd: boolean): Promise<string> {
    let passing = text;
    let isOver = isEnd;
    for (const stage of stages) {
      passing = await stage.look(passing, isOver);
      if (!stage.isEnded()) continue;
      isOver = true;
      isEnded = true;
    }
    return passing;
  }

  return {
    async push(text) {
      let left = '';
      for (let start = 0; start < text.length && !isEnded; start += MAX_HELD) {
        left += await pass(text.slice(start, start + MAX_HELD), false);
      }
      return left;
    },
    end: async () => (isEnded ? '' : pass('', true)),
    isEnded: () => isEnded,
  };
}

function asLook(look: OutputGuard | undefined): OutputGuard | undefined {
  if (look === undefined || typeof look === 'function') return look;
  throw new VerdictError('`output` gave neither a function nor nothing');
}

/** One guard and the part of a text that it holds back. */
type Stage = ReturnType<typeof createStage>;

function createStage(guard: GuardAtWork, look: OutputGuard) {
  let held = '';
  /** Characters that the guard has not seen. */
  let fresh = 0;
  let isEnded = false;

  function take(applied: Applied): string {
    if (applied.refused !== undefined) {
      guard.report('output', 'refused');
      throw applied.refused;
    }
    if (applied.isEnded) guard.report('output', 'ended');
    else if (applied.leaves + applied.held !== held) guard.report('output', 'replaced');
    held = applied.held;
    isEnded = applied.isEnded === true;
    return applied.leaves;
  }

  return {
    async look(text: string, isEnd: boolean): Promise<string> {
      if (isEnded) return '';
      if (guard.isOut()) return release(text);
      held += text;
      fresh += text.length;
      const isWaiting = fresh === 0 || (fresh < guard.gather && held.length < MAX_HELD);
      if (isWaiting && !isEnd) return '';
      fresh = 0;
      const applied = await guard.ask(
        'output',
        () => look(held, { isEnd }),
        (verdict) => apply(guard.name, verdict, held, isEnd),
      );
      return applied === undefined ? release('') : take(applied);
    },
    isEnded: () => isEnded,
  };

  /** The guard failed with `onFailure: pass`: the text passes. */
  function release(text: string): string {
    const left = held + text;
    held = '';
    return left;
  }
}

/** What a verdict means. Throws `VerdictError` for what is none. Pure. */
function apply(guard: string, verdict: OutputVerdict, text: string, isEnd: boolean): Applied {
  if (verdict === undefined) return { leaves: text, held: '' };
  if (!isVerdict(verdict)) throw new VerdictError('it said something that is no verdict');
  if ('refuse' in verdict) {
    return { leaves: '', held: '', refused: refusal(guard, 'output', verdict.refuse) };
  }
  if ('end' in verdict) return { leaves: asText(verdict.end), held: '', isEnded: true };
  const { hold = 0 } = verdict;
  if (!Number.isInteger(hold) || hold < 0 || hold > text.length) {
    throw new VerdictError('`hold` is no number of characters of the text');
  }
  if (isEnd && hold > 0) throw new VerdictError('nothing can be held at the end of an answer');
  if (hold > MAX_HELD) throw new VerdictError(`more than ${MAX_HELD} characters are held`);
  const at = text.length - hold;
  const leaves = 'replace' in verdict ? asText(verdict.replace) : text.slice(0, at);
  return { leaves, held: text.slice(at) };
}

/** A misspelled verdict must not let a text pass. */
function isVerdict(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return ['refuse', 'end', 'replace', 'hold'].some((member) => member in value);
}

/** Characters that may stand in place of a text. */
const MAX_REPLACEMENT = 128 * 1024;

function asText(value: unknown): string {
  if (typeof value !== 'string') throw new VerdictError('a text is replaced by a text alone');
  if (value.length > MAX_REPLACEMENT)
    throw new VerdictError(`more than ${MAX_REPLACEMENT} characters replace a text`);
  return value;
}
