import { type FieldError, KernelErrors } from 'agent-gateway';
import type { Decision, Interrupt } from '../../../agent-engine/contract.ts';

/** The input with which a client resumes: a decision for each pause by its id, or the plain decision or answers where exactly one is open. */
export type ResumeInput = Readonly<Record<string, unknown>>;

/**
 * The decisions in an input, by interrupt id; the engine checks whether they fit the pauses. Pure.
 *
 * @throws request.invalid for a plain decision while several pauses are open, and for an input of another form.
 */
export function readDecisions(
  input: ResumeInput,
  open: readonly Interrupt[],
): Readonly<Record<string, Decision>> {
  const isById = Object.keys(input).some((id) => open.some((interrupt) => interrupt.id === id));
  if (isById) {
    const given = Object.entries(input).map(([id, value]) => [id, decisionOf(value)] as const);
    return Object.fromEntries(given) as Record<string, Decision>;
  }
  const [only, ...others] = open;
  if (only === undefined || others.length > 0) {
    throw refuse({
      pointer: '/body/input',
      message: `${open.length} pauses are open: give a decision for each, by its id`,
    });
  }
  // Without a decision, the members of the input are the answers.
  const isPlain = 'decision' in input || 'answers' in input || only.type === 'approval';
  return { [only.id]: decisionOf(isPlain ? input : { answers: input }) as Decision };
}

/** Answers may also come without the member that holds them. */
function decisionOf(value: unknown): unknown {
  if (typeof value === 'string') return { decision: value };
  return value;
}

function refuse(error: FieldError): Error {
  return KernelErrors.invalidRequest(undefined, { errors: [error] });
}
