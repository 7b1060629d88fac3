import {
  beginSpan,
  estimateMessageTokens,
  estimateTokens,
  estimateUse,
  toModelUse,
} from '../../../records/contract.ts';
import {
  type ChatMessage,
  type ChatRequest,
  type Finding,
  type Guard,
  GuardErrors,
  keptThoughts,
  type ModelInfo,
  type TextOwner,
  type ToolCall,
  type ToolDefinition,
} from '../../contract.ts';
import { type Answer, joinAnswer } from './answer.ts';
import { type Frame, joinTexts, type Turn } from './frame.ts';
import type { LoopParts } from './loop-parts.ts';
import { assistantMessage } from './step.ts';

/** Tokens that are left for the answer where the caller sets no limit. */
const FOR_ANSWER = 4_096;

/** Members of an answer that are shown to no client, and go back to the provider as they are. */
const FOR_PROVIDER = ['reasoning_details'];

/**
 * Asks the frame's model for the next answer. Text and reasoning of the outermost agent leave as they come; those of
 * sub-agents, which may work side by side, do not. Throws errors of `ModelErrors`, and `guard.output-blocked`, which
 * cancels the call.
 */
export async function askModel(
  parts: LoopParts,
  turn: Turn,
  frame: Frame,
  tools: readonly ToolDefinition[],
): Promise<Answer> {
  const { models, guard, ids, clock } = parts;
  const { signal, requestId, traceHeaders, principal } = turn.context;
  const model = models.resolve(frame.model);
  const request = requestOf(frame, tools, model.info);
  let answeredBy: ModelInfo = model.info;
  const newId = () => `call_${ids.uuid()}`;
  const joined = joinAnswer();
  const secret = frame.secret === '' ? undefined : frame.secret;
  const text = guarded(guard, secret, turn.context, refuse);
  /** Of thoughts that are coming: where they give away what they must not, the rest is withheld; the answer goes on. */
  let reasoning: GuardedText | undefined;
  const isShown = frame.prefix === '';

  async function emit(type: 'text' | 'reasoning', delta: string): Promise<void> {
    if (isShown && delta !== '') await turn.emit({ type, delta });
  }
  async function endReasoning(): Promise<void> {
    const rest = reasoning?.end() ?? '';
    reasoning = undefined;
    await emit('reasoning', rest);
  }

  turn.modelCalls += 1;
  frame.modelCalls += 1;
  const context = {
    signal,
    tenantId: principal.tenantId,
    requestId,
    traceHeaders,
    answeredBy: (info: ModelInfo) => {
      answeredBy = info;
    },
  };
  const endSpan = beginSpan(context, clock);
  for await (const chunk of turn.guards.stream(model.stream(request, context), FOR_PROVIDER)) {
    const added = joined.add(chunk);
    if (added.reasoning !== '') {
      reasoning ??= guarded(guard, secret, turn.context, () => {});
      await emit('reasoning', reasoning.push(added.reasoning));
    }
    if (added.text !== '') {
      if (reasoning !== undefined) await endReasoning();
      await emit('text', text.push(added.text));
    }
  }
  const span = endSpan();
  await endReasoning();
  await emit('text', text.end());

  const given = joined.answer();
  const calls = given.calls.map((call) => withSafeNames(call, guard.redact, newId));
  const thoughts = keptThoughts(given.reasoning, answeredBy);
  const answer = { ...given, calls, reasoningDetails: [...given.reasoningDetails, ...thoughts] };
  const use = toModelUse(frame.model, answeredBy, answer.usage, () =>
    estimateUse(request, {
      ...assistantMessage(answer.text, answer.calls),
      reasoning_content: answer.reasoning,
    }),
  );
  turn.uses.push({ ...use, span });
  return answer;
}

/**
 * The id and the name of a call are shown and kept, and a model may write anything into them; its arguments are
 * redacted where they are shown.
 */
function withSafeNames(call: ToolCall, redact: (text: string) => string, newId: () => string): ToolCall {
  const id = redact(call.id) === call.id ? call.id : newId();
  return { ...call, id, function: { ...call.function, name: redact(call.function.name) } };
}

/** What the model is asked, within its window where that is known. */
function requestOf(frame: Frame, tools: readonly ToolDefinition[], info: ModelInfo): ChatRequest {
  const { parameters = {}, toolChoice } = frame.request;
  const instructions = joinTexts(frame.system, frame.experience?.advice);
  const system: readonly ChatMessage[] =
    instructions === '' ? [] : [{ role: 'system', content: instructions }];
  let messages: readonly ChatMessage[] = [...system, ...frame.messages];
  if (info.context_length !== undefined) {
    const most = parameters.max_completion_tokens ?? parameters.max_tokens;
    const forAnswer = typeof most === 'number' ? most : FOR_ANSWER;
    const forTools = tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools));
    const fixed = forTools + Math.min(forAnswer, info.context_length / 2);
    messages = fitWindow(messages, info.context_length - fixed);
  }
  // A call is forced only once: the model has its result then, and would otherwise have to call again for ever.
  const isForced = toolChoice === 'required' || typeof toolChoice === 'object';
  const choice = isForced && frame.modelCalls > 0 ? undefined : toolChoice;
  return {
    ...parameters,
    model: frame.model,
    messages,
    ...(tools.length === 0 ? {} : { tools, ...(choice === undefined ? {} : { tool_choice: choice }) }),
  };
}

/** The text of an answer on its way out. */
interface GuardedText {
  /** What may leave now: checked and redacted. Throws `guard.output-blocked`. */
  push(text: string): string;
  /** The rest. */
  end(): string;
}

/**
 * Passes text through the output check and redaction, piece by piece. Where `onFinding` does not throw, the text from
 * the finding on is withheld.
 */
function guarded(
  guard: Guard,
  secret: string | undefined,
  owner: TextOwner,
  onFinding: (finding: Finding) => void,
): GuardedText {
  const check = guard.checkOutput(secret, owner);
  const redactor = guard.redactStream();
  let isWithheld = false;
  function mayLeave(finding: Finding | undefined): boolean {
    if (finding !== undefined) onFinding(finding);
    isWithheld ||= finding !== undefined;
    return !isWithheld;
  }
  return {
    push: (text) => (mayLeave(check.push(text)) ? redactor.push(text) : ''),
    end: () => (mayLeave(check.end()) ? redactor.end() : ''),
  };
}

/** Refuses an answer that gives away what it must not. */
function refuse({ rule }: Finding): never {
  throw GuardErrors.outputBlocked(`The rule "${rule}" refused the answer.`);
}

/** Characters that stay of an output that is shortened. */
const STAYS = 400;

/**
 * The conversation within `maxTokens` (estimated) as far as shortening outputs of tools makes it so: the oldest first,
 * each with a note, those of the last step never. Nothing else is touched, and no message left out: when it is still
 * too long, the provider says so. Pure.
 */
export function fitWindow(messages: readonly ChatMessage[], maxTokens: number): readonly ChatMessage[] {
  let excess = messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0) - maxTokens;
  if (excess <= 0) return messages;
  const lastAnswer = messages.findLastIndex(({ role }) => role === 'assistant');
  return messages.map((message, index) => {
    if (excess <= 0 || index > lastAnswer || message.role !== 'tool') return message;
    const { content } = message;
    if (typeof content !== 'string' || content.length <= 2 * STAYS) return message;
    const note = `\n[shortened: ${content.length} characters were here; call the tool again where you need them]`;
    const shorter = content.slice(0, STAYS).toWellFormed() + note;
    excess -= estimateTokens(content) - estimateTokens(shorter);
    return { ...message, content: shorter };
  });
}
