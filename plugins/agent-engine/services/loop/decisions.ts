import { type FieldError, isJsonObject, pointerSegment } from 'agent-gateway';
import { AgentErrors, type Decision, type QuestionField } from '../../contract.ts';
import type { ArgumentCheck } from '../tools/argument-check.ts';
import { type Frame, notRun, type Waiting, waitingCalls } from './frame.ts';

/** What is decided, by interrupt id. It comes from a request: nothing about its form is known. */
type Given = Readonly<Record<string, unknown>>;

/** Characters of one answer, or of the message of a rejection. */
const MAX_ANSWER = 32_768;
/** Problems that are reported at most. */
const MAX_PROBLEMS = 100;

/**
 * Throws `agent.decision-invalid`, with all problems, unless each open interrupt has a decision that fits it, and
 * nothing else is decided.
 */
export function checkDecisions(root: Frame, decisions: Given, check: ArgumentCheck): void {
  const problems: FieldError[] = [];
  const open = new Set<string>();
  for (const { status } of waitingCalls(root)) {
    const { interruptId } = status;
    open.add(interruptId);
    const pointer = `/decisions/${segment(interruptId)}`;
    if (Object.hasOwn(decisions, interruptId))
      problems.push(...problemsOf(status, decisions[interruptId], pointer, check));
    else problems.push({ pointer, message: 'is missing: this interrupt is open' });
  }
  for (const id of Object.keys(decisions)) {
    if (!open.has(id))
      problems.push({ pointer: `/decisions/${segment(id)}`, message: 'is no open interrupt' });
  }
  if (problems.length > 0)
    throw AgentErrors.decisionInvalid(undefined, { errors: problems.slice(0, MAX_PROBLEMS) });
}

/** Applies checked decisions: the calls that waited are ready to go on. */
export function decide(root: Frame, decisions: Readonly<Record<string, Decision>>): void {
  for (const { frame, call: step, status } of [...waitingCalls(root)]) {
    const { call } = step;
    const decision = decisions[status.interruptId]!;
    if (status.is === 'question') {
      const answers = 'answers' in decision ? decision.answers : {};
      step.status = { is: 'answered', answers, askedAt: status.askedAt };
      continue;
    }
    if (!('decision' in decision)) continue;
    if (decision.decision === 'reject') {
      const words = decision.message ? ` The person said: ${decision.message}` : '';
      step.status = { is: 'refused', outcome: notRun(`A person refused this call.${words}`) };
      continue;
    }
    step.status = { is: 'approved', ref: status.ref };
    if (decision.decision === 'edit') {
      const edited = {
        ...call,
        function: { ...call.function, arguments: JSON.stringify(decision.arguments) },
      };
      const calls = frame.step!.calls.map((one) => (one === step ? { ...one, call: edited } : one));
      frame.step = { ...frame.step!, calls };
    }
  }
}

function problemsOf(
  status: Waiting,
  given: unknown,
  pointer: string,
  check: ArgumentCheck,
): readonly FieldError[] {
  if (!isJsonObject(given)) return [{ pointer, message: 'must be an object' }];
  if (status.is === 'question')
    return answerProblems(status.question.fields, given.answers, `${pointer}/answers`);
  switch (given.decision) {
    case 'approve':
      return [];
    case 'reject':
      return given.message === undefined || isText(given.message)
        ? []
        : [{ pointer: `${pointer}/message`, message: `must be a text of at most ${MAX_ANSWER} characters` }];
    case 'edit': {
      const at = `${pointer}/arguments`;
      if (!isJsonObject(given.arguments)) return [{ pointer: at, message: 'must be an object' }];
      const checked = check(status, JSON.stringify(given.arguments));
      return 'input' in checked ? [] : checked.problems.map((message) => ({ pointer: at, message }));
    }
    default:
      return [{ pointer: `${pointer}/decision`, message: 'must be "approve", "reject" or "edit"' }];
  }
}

function answerProblems(
  fields: readonly QuestionField[],
  answers: unknown,
  pointer: string,
): readonly FieldError[] {
  if (!isJsonObject(answers))
    return [{ pointer, message: 'must be an object with an answer for each field' }];
  const names = new Set(fields.map(({ name }) => name));
  const unknown = Object.keys(answers)
    .filter((name) => !names.has(name))
    .slice(0, MAX_PROBLEMS)
    .map((name) => ({ pointer: `${pointer}/${segment(name)}`, message: 'is no field of the question' }));
  const wrong = fields.flatMap((field): FieldError[] => {
    const answer = Object.hasOwn(answers, field.name) ? answers[field.name] : undefined;
    const message = answerProblem(field, answer);
    return message === undefined ? [] : [{ pointer: `${pointer}/${segment(field.name)}`, message }];
  });
  return [...wrong, ...unknown];
}

function answerProblem({ type, required, options = [] }: QuestionField, answer: unknown): string | undefined {
  if (answer === undefined || answer === null || answer === '') return required ? 'is required' : undefined;
  if (type === 'confirm') return typeof answer === 'boolean' ? undefined : 'must be true or false';
  if (type === 'select') {
    const isOption = typeof answer === 'string' && options.includes(answer);
    return isOption
      ? undefined
      : `must be one of ${options.map((option) => JSON.stringify(option)).join(', ')}`;
  }
  return isText(answer) ? undefined : `must be a text of at most ${MAX_ANSWER} characters`;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_ANSWER;
}

/** A name that a client made up, as a segment of a pointer. */
function segment(name: string): string {
  return pointerSegment(name.slice(0, 200));
}
