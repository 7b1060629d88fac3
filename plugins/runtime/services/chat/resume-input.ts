import { isJsonObject, KernelErrors, pointerPath } from 'agent-gateway';
import type { Decision, Interrupt } from '../../../agent-engine/contract.ts';
import { partsOfPointer } from '../decision-errors.ts';

/**
 * The input with which a client resumes: a decision for each pause by its id, or the plain decision or answers where
 * exactly one is open.
 */
export type ResumeInput = Readonly<Record<string, unknown>>;

/** The members of a plain decision. */
const MEMBERS: ReadonlySet<string> = new Set(['decision', 'arguments', 'message', 'answers']);

/**
 * The decisions in an input, by interrupt id; the engine checks whether they fit the pauses. Pure.
 *
 * @throws request.invalid for a plain decision while several pauses are open, and for an input of another form.
 */
export function readDecisions(
  input: ResumeInput,
  open: readonly Interrupt[],
): Readonly<Record<string, Decision>> {
  if (isById(input, open)) {
    const given = Object.entries(input).map(([id, value]) => [id, decisionOf(value)] as const);
    return Object.fromEntries(given) as Record<string, Decision>;
  }
  const [only, ...others] = open;
  if (only === undefined || others.length > 0) {
    const message = `${open.length} pauses are open: give a decision for each, by its id`;
    throw KernelErrors.invalidRequest(undefined, { errors: [{ pointer: '/body/input', message }] });
  }
  return { [only.id]: decisionOf(isPlain(input, only) ? input : { answers: input }) as Decision };
}

/** The place in the body of a problem that the engine reports of these decisions. Pure. */
export function placeInInput(input: ResumeInput, open: readonly Interrupt[], pointer: string): string {
  const { id, rest } = partsOfPointer(pointer);
  if (isById(input, open)) {
    const isText = typeof input[pointerPath(pointer)[1] ?? ''] === 'string';
    return `/body/input/${id}${isText ? '' : rest}`;
  }
  const isWhole = open[0] === undefined || isPlain(input, open[0]);
  return `/body/input${isWhole ? rest : rest.replace(/^\/answers/, '')}`;
}

/** An input of objects alone is meant by id, though no pause may have one of its ids. */
function isById(input: ResumeInput, open: readonly Interrupt[]): boolean {
  const names = Object.keys(input);
  if (names.some((name) => open.some(({ id }) => id === name))) return true;
  return names.length > 0 && names.every((name) => !MEMBERS.has(name) && isJsonObject(input[name]));
}

/** Members of an input for a question are its answers, whatever their names; or `answers` holds them. */
function isPlain(input: ResumeInput, { type, fields }: Interrupt): boolean {
  if (type === 'approval' || isJsonObject(input.answers)) return true;
  return 'answers' in input && !fields.some(({ name }) => name === 'answers');
}

/** A text is the decision alone, without its other members. */
function decisionOf(value: unknown): unknown {
  return typeof value === 'string' ? { decision: value } : value;
}
