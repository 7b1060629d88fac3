import { estimateTokens, estimateUse, toModelUse } from '../../../records/contract.ts';
import type { ChatMessage, ChatRequest, ModelInfo, ToolDefinition } from '../../contract.ts';
import { type Answer, joinAnswer } from './answer.ts';
import { fitWindow } from './fit-window.ts';
import type { Frame } from './frame.ts';
import { guardReasoning, guardText } from './guarded-text.ts';
import { assistantMessage } from './step.ts';
import type { LoopParts, Turn } from './turn.ts';

/** Tokens that are left for the answer where the caller sets no limit. */
const FOR_ANSWER = 4_096;

/**
 * Asks the frame's model for the next answer. Text and reasoning of the outermost agent leave as they come; those of sub-agents, which may work
 * side by side, do not. Throws errors of `ModelErrors`, and `guard.output-blocked`, which cancels the call.
 */
export async function askModel(
  parts: LoopParts,
  turn: Turn,
  frame: Frame,
  tools: readonly ToolDefinition[],
): Promise<Answer> {
  const { models, guard, ids } = parts;
  const { signal, requestId, traceHeaders } = turn.context;
  const model = models.resolve(frame.model);
  const request = requestOf(frame, tools, model.info);
  let answeredBy: ModelInfo = model.info;
  const joined = joinAnswer(() => `call_${ids.uuid()}`);
  const secret = frame.secret === '' ? undefined : frame.secret;
  const text = guardText(guard, secret);
  let reasoning = guardReasoning(guard, secret);
  let isReasoning = false;
  const isShown = frame.prefix === '';

  async function emit(type: 'text' | 'reasoning', delta: string): Promise<void> {
    if (isShown && delta !== '') await turn.emit({ type, delta });
  }
  async function endReasoning(): Promise<void> {
    isReasoning = false;
    await emit('reasoning', reasoning.end());
    reasoning = guardReasoning(guard, secret);
  }

  turn.modelCalls += 1;
  frame.modelCalls += 1;
  const context = {
    ...{ signal, requestId },
    ...(traceHeaders === undefined ? {} : { traceHeaders }),
    answeredBy: (info: ModelInfo) => {
      answeredBy = info;
    },
  };
  for await (const chunk of model.stream(request, context)) {
    const added = joined.add(chunk);
    if (added.reasoning !== '') {
      isReasoning = true;
      await emit('reasoning', reasoning.push(added.reasoning));
    }
    if (added.text !== '') {
      if (isReasoning) await endReasoning();
      await emit('text', text.push(added.text));
    }
  }
  if (isReasoning) await endReasoning();
  await emit('text', text.end());

  const answer = joined.answer();
  turn.uses.push(
    toModelUse(frame.model, answeredBy, answer.usage, () =>
      estimateUse(request, assistantMessage(answer.text, answer.calls)),
    ),
  );
  return answer;
}

/** What the model is asked, within its window where that is known. */
function requestOf(frame: Frame, tools: readonly ToolDefinition[], info: ModelInfo): ChatRequest {
  const { parameters = {}, toolChoice } = frame.request;
  const system: readonly ChatMessage[] =
    frame.system === '' ? [] : [{ role: 'system', content: frame.system }];
  let messages: readonly ChatMessage[] = [...system, ...frame.messages];
  if (info.context_length !== undefined) {
    const most = parameters.max_completion_tokens ?? parameters.max_tokens;
    const forAnswer = typeof most === 'number' ? most : FOR_ANSWER;
    const fixed = toolTokens(tools) + Math.min(forAnswer, info.context_length / 2);
    messages = fitWindow(messages, info.context_length - fixed);
  }
  // A call that is forced is forced once: the next answer has its result, and would have to call again for ever.
  const isForced = toolChoice === 'required' || typeof toolChoice === 'object';
  const choice = isForced && frame.modelCalls > 0 ? undefined : toolChoice;
  return {
    ...parameters,
    model: frame.model,
    messages,
    ...(tools.length === 0 ? {} : { tools, ...(choice === undefined ? {} : { tool_choice: choice }) }),
  };
}

function toolTokens(tools: readonly ToolDefinition[]): number {
  return tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools));
}
