import type { AgentFinish, ToolCall } from '../../contract.ts';
import { MAX_CALLS } from './answer.ts';
import { askModel } from './ask-model.ts';
import type { Frame } from './frame.ts';
import { notRun } from './outcomes.ts';
import { runStep } from './run-step.ts';
import { answerAll, assistantMessage, beginStep, closeStep, nextStep } from './step.ts';
import { openToolbox } from './toolbox.ts';
import type { LoopParts, Turn } from './turn.ts';

/** How a frame's run ended; `interrupted` leaves the frame with a step that waits. */
export interface FrameEnd {
  readonly finish: AgentFinish;
  /** With finish `tool_calls`. */
  readonly toolCalls?: readonly ToolCall[];
}

const AT_LIMIT = notRun('The call was not made: the turn has reached its limit of model calls.');

/**
 * Runs an agent, or goes on with one that was paused, until its model answers without calls, a call of the caller's tools comes, somebody has to
 * be asked, or the limit of model calls is reached. The frame holds all that was done. Throws errors of `ModelErrors` and `GuardErrors`, what the
 * receipts throw, and the reason of the turn's signal.
 */
export async function runFrame(parts: LoopParts, turn: Turn, frame: Frame): Promise<FrameEnd> {
  const toolbox = await openToolbox(parts.toolCatalog, turn, frame);
  for (;;) {
    turn.context.signal.throwIfAborted();
    if (frame.step === undefined) {
      if (isAtLimit(turn, frame)) return { finish: 'iteration_limit' };
      const answer = await askModel(parts, turn, frame, toolbox.definitions);
      frame.text = answer.text;
      const next = nextStep(answer);
      if (next.is === 'finish') {
        frame.messages.push(assistantMessage(answer.text));
        return { finish: next.finish };
      }
      if (answer.dropped > 0)
        turn.context.log.warn({ dropped: answer.dropped }, `an answer had more than ${MAX_CALLS} calls`);
      frame.step = beginStep(answer, frame, toolbox.isClientTool);
      frame.calls += answer.calls.length;
      // Nobody would see what the calls bring, unless the turn goes on with the caller's answers.
      const goesOn = frame.step.calls.some(({ status }) => status.is === 'client');
      if (isAtLimit(turn, frame) && !goesOn) answerAll(frame.step, AT_LIMIT);
    }
    await runStep({ parts, turn, frame, toolbox, runFrame });
    const closed = closeStep(frame.step);
    if (closed === undefined) return { finish: 'interrupted' };
    frame.step = undefined;
    frame.messages.push(...closed.messages);
    if (closed.clientCalls.length > 0) return { finish: 'tool_calls', toolCalls: closed.clientCalls };
  }
}

function isAtLimit(turn: Turn, frame: Frame): boolean {
  return turn.modelCalls >= turn.maxModelCalls || frame.modelCalls >= frame.maxModelCalls;
}
