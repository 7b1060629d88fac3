import { forEachLimited, redactJsonTextWith } from 'agent-gateway';
import {
  type AgentFinish,
  type AgentSignal,
  MAX_ITERATIONS,
  MAX_KEPT,
  type ToolCall,
} from '../../contract.ts';
import type { SubAgent } from './agent-resource.ts';
import { type Answer, MAX_CALLS } from './answer.ts';
import { askModel } from './ask-model.ts';
import { earlierOutcome, execute, recordAnswers } from './execute.ts';
import type { FrameExperience } from './experience.ts';
import { cut, type Frame, MAX_RESULT, notRun, type Outcome, type StepCall, type Turn } from './frame.ts';
import type { LoopParts } from './loop-parts.ts';
import { answerAll, assistantMessage, beginStep, closeStep, finishCall, finishOf } from './step.ts';
import { DELEGATION, openToolbox, type Toolbox } from './toolbox.ts';

/** How a frame's run ended; `interrupted` leaves the frame with a step that waits. */
interface FrameEnd {
  readonly finish: AgentFinish;
  /** With finish `tool_calls`. */
  readonly toolCalls?: readonly ToolCall[];
}

const NO_APPROVAL = notRun('This tool needs the approval of a person, and no person can be asked here.');
const AT_LIMIT = notRun('The call was not made: the turn has reached its limit of model calls.');

/**
 * Runs an agent, or goes on with one that was paused, until its model answers without calls, calls a tool of the
 * caller, a person has to be asked, or a limit of the turn is reached. The frame holds all that was done. Throws
 * errors of `ModelErrors` and `GuardErrors`, what the receipts throw, and the reason of the turn's signal.
 */
export async function runFrame(parts: LoopParts, turn: Turn, frame: Frame): Promise<FrameEnd> {
  const toolbox = await openToolbox(parts.toolCatalog, turn, frame);
  const experience = await parts.openExperience(turn, frame, toolbox);
  try {
    const end = await runSteps({ parts, turn, frame, toolbox, experience });
    if (end.finish !== 'interrupted') experience.tell({ type: 'node_done', finish: end.finish });
    return end;
  } catch (error) {
    experience.tell({ type: 'node_done', finish: turn.context.signal.aborted ? 'aborted' : 'failed' });
    throw error;
  } finally {
    experience.end();
  }
}

async function runSteps(run: StepRun): Promise<FrameEnd> {
  const { turn, frame, toolbox } = run;
  for (;;) {
    turn.context.signal.throwIfAborted();
    if (frame.step === undefined) {
      if (isAtLimit(turn, frame)) return { finish: 'iteration_limit' };
      const answer = await ask(run);
      frame.text = answer.text;
      const finish = finishOf(answer);
      if (finish !== undefined) {
        frame.messages.push(assistantMessage(answer.text));
        return { finish };
      }
      if (answer.dropped > 0)
        turn.context.log.warn({ dropped: answer.dropped }, `an answer had more than ${MAX_CALLS} calls`);
      frame.step = beginStep(answer, frame, toolbox.isClientTool);
      frame.calls += answer.calls.length;
      // At the limit no model would read the results, unless the turn goes on with the caller's answers.
      const goesOn = frame.step.calls.some(({ status }) => status.is === 'client');
      if (isAtLimit(turn, frame) && !goesOn) answerAll(frame.step, AT_LIMIT);
    }
    const { signal } = turn.context;
    // The first failure ends the signal: nothing new is begun, and what is under way is waited for.
    const work = (call: StepCall) => advance(run, call).catch(turn.stop);
    await forEachLimited(frame.step.calls, PARALLEL_CALLS, work, signal);
    signal.throwIfAborted();
    const closed = closeStep(frame.step);
    if (closed === undefined) return { finish: 'interrupted' };
    frame.step = undefined;
    frame.messages.push(...closed.messages);
    turn.characters += JSON.stringify(closed.messages).length;
    if (closed.clientCalls.length > 0) return { finish: 'tool_calls', toolCalls: closed.clientCalls };
  }
}

/**
 * Of model calls, or of what a turn may keep: each call of a model sends all of it, and in the end it is stored at one
 * time.
 */
function isAtLimit(turn: Turn, frame: Frame): boolean {
  if (turn.characters > MAX_KEPT) return true;
  return turn.modelCalls >= turn.maxModelCalls || frame.modelCalls >= frame.maxModelCalls;
}

/** Calls of one step that run at one time. */
const PARALLEL_CALLS = 8;

/** What a step is run with. */
interface StepRun {
  readonly parts: LoopParts;
  readonly turn: Turn;
  readonly frame: Frame;
  readonly toolbox: Toolbox;
  readonly experience: FrameExperience;
}

async function ask({ parts, turn, frame, toolbox, experience }: StepRun): Promise<Answer> {
  const elapsed = stopwatch(parts);
  let isError = true;
  try {
    const answer = await askModel(parts, turn, frame, toolbox.definitions);
    isError = false;
    return answer;
  } finally {
    experience.tell({ type: 'model_invoke', component: frame.model, durationMs: elapsed(), isError });
  }
}

/** A function that returns the milliseconds since this call. */
function stopwatch({ clock }: Pick<LoopParts, 'clock'>): () => number {
  const start = clock.monotonic();
  return () => Math.round(clock.monotonic() - start);
}

/** Advances a call as far as possible: to its result, or until a person has to be asked. */
async function advance(run: StepRun, step: StepCall): Promise<void> {
  const { parts, turn, toolbox } = run;
  const { status } = step;
  const { name } = step.call.function;
  turn.context.signal.throwIfAborted();
  switch (status.is) {
    case 'open': {
      const sub = toolbox.subAgent(name);
      return sub === undefined ? open(run, step) : delegate(run, step, sub);
    }
    case 'approved':
      await announce(run, step);
      return invoke(run, step, status.ref);
    case 'refused':
      return keepRefused(run, step, status.outcome);
    case 'answered':
      return finish(run, step, await recordAnswers(parts, turn, step, status));
    case 'nested':
      return runNested(run, step, status.frame);
    default:
      return;
  }
}

/** A call of a tool, as the model made it. */
async function open(run: StepRun, step: StepCall): Promise<void> {
  const { parts, turn, toolbox } = run;
  const { name, arguments: given } = step.call.function;
  const offered = toolbox.tool(name);
  if (offered?.requiresApproval !== true) {
    await announce(run, step);
    return offered === undefined
      ? finish(run, step, unknownTool(name, toolbox))
      : invoke(run, step, offered.tool.ref);
  }
  const { ref, parameters } = offered.tool;
  // A person is not asked about a call that could not run anyway.
  const checked = parts.checkArguments(offered.tool, given);
  if ('problems' in checked) return refuse(run, step, notRun(checked.problems.join(' ')));
  if (turn.pauses === 'refuse') return refuse(run, step, NO_APPROVAL);
  step.status = { is: 'approval', interruptId: parts.ids.uuid(), ref, parameters };
}

/** The signal for a tool or sub-agent that was used. */
function signalOf(component: string, isError: boolean, durationMs: number): AgentSignal {
  return isError
    ? { type: 'tool_error', component, durationMs, reason: 'failed' }
    : { type: 'tool_success', component, durationMs };
}

async function invoke(run: StepRun, step: StepCall, ref: string): Promise<void> {
  const { parts, turn, frame, toolbox, experience } = run;
  const { name, arguments: given } = step.call.function;
  const offered = toolbox.toolByRef(ref);
  if (offered === undefined) return finish(run, step, unknownTool(name, toolbox));
  const checked = parts.checkArguments(offered.tool, given);
  if ('problems' in checked) {
    experience.tell({ type: 'tool_error', component: ref, durationMs: 0, reason: 'arguments' });
    return finish(run, step, notRun(checked.problems.join(' ')));
  }
  const elapsed = stopwatch(parts);
  const done = await execute(parts, turn, frame, step, offered.tool, checked.input);
  if ('outcome' in done) {
    experience.tell(signalOf(ref, done.outcome.isError, elapsed()));
    return finish(run, step, done.outcome);
  }
  const { question } = done;
  step.status = { is: 'question', interruptId: parts.ids.uuid(), question, askedAt: parts.clock.now() };
}

async function delegate(run: StepRun, step: StepCall, { agent }: SubAgent): Promise<void> {
  const { parts, frame } = run;
  await announce(run, step);
  const checked = parts.checkArguments(
    { ref: 'delegation', parameters: DELEGATION },
    step.call.function.arguments,
  );
  if ('problems' in checked) return finish(run, step, notRun(checked.problems.join(' ')));
  const nested: Frame = {
    agent,
    path: [...frame.path, agent.name],
    prefix: `${step.position}.`,
    model: agent.model ?? frame.model,
    system: agent.systemPrompt ?? '',
    secret: agent.systemPrompt ?? '',
    messages: [{ role: 'user', content: String(checked.input.task) }],
    known: 1,
    calls: 0,
    modelCalls: 0,
    text: '',
    request: {},
    maxModelCalls: agent.maxIterations ?? MAX_ITERATIONS,
  };
  step.status = { is: 'nested', frame: nested };
  return runNested(run, step, nested);
}

async function runNested(run: StepRun, step: StepCall, nested: Frame): Promise<void> {
  const { parts, turn, frame, experience } = run;
  const [from, to] = [frame.agent.name, nested.agent.name];
  const elapsed = stopwatch(parts);
  await turn.emit({ type: 'agent_switch', from, to });
  const { finish: ended } = await runFrame(parts, turn, nested);
  await turn.emit({ type: 'agent_switch', from: to, to: from });
  if (ended === 'interrupted') return;
  experience.tell(signalOf(`agent/${to}`, ended !== 'stop', elapsed()));
  await finish(run, step, answerOf(nested, ended, parts.guard.redact));
}

/** A sub-agent's answer as the result of the call that began it. */
function answerOf(nested: Frame, ended: FrameEnd['finish'], redact: (text: string) => string): Outcome {
  const text = redact(nested.text);
  if (ended === 'content_filter') return notRun('The agent’s answer was withheld by a content filter.');
  if (ended === 'stop') return { content: cut(text, MAX_RESULT), isError: false };
  const why = ended === 'length' ? 'was cut at its limit of tokens' : 'reached its limit of model calls';
  return notRun(`The agent ${why}. It came to: ${text}`);
}

function unknownTool(name: string, { names, missing }: Toolbox): Outcome {
  const known = names.length === 0 ? 'There are none' : `There are: ${names.slice(0, 50).join(', ')}`;
  const away = missing.length === 0 ? '' : ` Not available now: ${missing.slice(0, 50).join(', ')}.`;
  return notRun(`There is no tool "${name.slice(0, 100).toWellFormed()}". ${known}.${away}`);
}

/** A call that a person has refused. It may have been approved before, by an attempt to go on that broke. */
async function keepRefused(run: StepRun, step: StepCall, outcome: Outcome): Promise<void> {
  const made = await earlierOutcome(run.parts, run.turn, step.position);
  if (made === undefined) return finishCall(step, outcome);
  await announce(run, step);
  await finish(run, step, made);
}

/** Emits a call and then its result, without running it. */
async function refuse(run: StepRun, step: StepCall, outcome: Outcome): Promise<void> {
  await announce(run, step);
  await finish(run, step, outcome);
}

async function announce({ parts, turn, frame }: StepRun, { call }: StepCall): Promise<void> {
  const { name, arguments: given } = call.function;
  const shown = redactJsonTextWith(parts.guard.redact, given);
  await turn.emit({ type: 'tool_call', id: call.id, name, arguments: shown, agentPath: frame.path });
}

async function finish({ turn, frame }: StepRun, step: StepCall, outcome: Outcome): Promise<void> {
  finishCall(step, outcome);
  const { id, function: called } = step.call;
  await turn.emit({ type: 'tool_result', id, name: called.name, ...outcome, agentPath: frame.path });
}
