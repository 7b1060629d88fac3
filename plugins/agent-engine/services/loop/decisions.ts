import type { FieldError } from 'agent-gateway';
import { AgentErrors, type Decision, type QuestionField } from '../../contract.ts';
import { type ArgumentCheck, isObject } from '../tools/argument-check.ts';
import { type CallStatus, type Frame, notRun, waitingCalls } from './frame.ts';

/** What is decided, by interrupt id. It comes from a request: nothing about its form is known. */
type Given = Readonly<Record<string, unknown>>;

/** Characters of one answer, or of the words beside a rejection. */
const MAX_ANSWER = 32_768;
/** Problems that are told at most. */
const MAX_PROBLEMS = 100;

/**
 * Throws `agent.decision-invalid`, with all problems, unless each open interrupt has a decision that fits it, and nothing else is decided.
 */
export function checkDecisions(root: Frame, decisions: Given, check: ArgumentCheck): void {
  const problems: FieldError[] = [];
  const open = new Set<string>();
  for (const { call } of waitingCalls(root)) {
    const { status } = call;
    if (status.is !== 'approval' && status.is !== 'question') continue;
    const { interruptId } = status;
    open.add(interruptId);
    const pointer = `/decisions/${segment(interruptId)}`;
    const found = Object.hasOwn(decisions, interruptId)
      ? problemsOf(status, decisions[interruptId], check)
      : [{ at: '', message: 'is missing: this interrupt is open' }];
    problems.push(...found.map(({ at, message }) => ({ pointer: pointer + at, message })));
  }
  for (const id of Object.keys(decisions)) {
    if (!open.has(id))
      problems.push({ pointer: `/decisions/${segment(id)}`, message: 'is no open interrupt' });
  }
  if (problems.length > 0)
    throw AgentErrors.decisionInvalid(undefined, { errors: problems.slice(0, MAX_PROBLEMS) });
}

/** Lets checked decisions count: the calls that waited are ready to go on. */
export function decide(root: Frame, decisions: Readonly<Record<string, Decision>>): void {
  for (const { frame, call: step } of [...waitingCalls(root)]) {
    const { status, call } = step;
    if (status.is !== 'approval' && status.is !== 'question') continue;
    const decision = decisions[status.interruptId]!;
    if (status.is === 'question') {
      const answers = 'answers' in decision ? decision.answers : {};
      step.status = { is: 'answered', answers, askedAt: status.askedAt };
      continue;
    }
    if (!('decision' in decision)) continue;
    if (decision.decision === 'reject') {
      const words = decision.message ? ` The person said: ${decision.message}` : '';
      step.status = { is: 'done', outcome: notRun(`A person refused this call.${words}`) };
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

interface Problem {
  /** Below the decision. */
  readonly at: string;
  readonly message: string;
}

type Waiting = Extract<CallStatus, { is: 'approval' | 'question' }>;

function problemsOf(status: Waiting, given: unknown, check: ArgumentCheck): readonly Problem[] {
  if (!isObject(given)) return [{ at: '', message: 'must be an object' }];
  if (status.is === 'question') return answerProblems(status.question.fields, given.answers);
  switch (given.decision) {
    case 'approve':
      return [];
    case 'reject':
      return given.message === undefined || isText(given.message)
        ? []
        : [{ at: '/message', message: `must be a text of at most ${MAX_ANSWER} characters` }];
    case 'edit':
      return argumentProblems(status, given.arguments, check);
    default:
      return [{ at: '/decision', message: 'must be "approve", "reject" or "edit"' }];
  }
}

function argumentProblems(
  tool: Extract<Waiting, { is: 'approval' }>,
  given: unknown,
  check: ArgumentCheck,
): readonly Problem[] {
  if (!isObject(given)) return [{ at: '/arguments', message: 'must be an object' }];
  const checked = check(tool, JSON.stringify(given));
  return 'input' in checked ? [] : checked.problems.map((message) => ({ at: '/arguments', message }));
}

function answerProblems(fields: readonly QuestionField[], answers: unknown): readonly Problem[] {
  if (!isObject(answers))
    return [{ at: '/answers', message: 'must be an object with an answer for each field' }];
  const names = new Set(fields.map(({ name }) => name));
  const unknown = Object.keys(answers)
    .filter((name) => !names.has(name))
    .map((name) => ({ at: `/answers/${segment(name)}`, message: 'is no field of the question' }));
  const wrong = fields.flatMap((field): Problem[] => {
    const answer = Object.hasOwn(answers, field.name) ? answers[field.name] : undefined;
    const message = answerProblem(field, answer);
    return message === undefined ? [] : [{ at: `/answers/${segment(field.name)}`, message }];
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

/** A name as a segment of an RFC 6901 pointer. */
function segment(name: string): string {
  return name.slice(0, 200).replaceAll('~', '~0').replaceAll('/', '~1');
}
