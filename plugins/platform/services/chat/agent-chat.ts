import { KernelErrors } from 'agent-gateway';
import type {
  AgentEvent,
  AgentFinish,
  AgentResult,
  Agents,
  ChatChunk,
  ChatCompletion,
  FinishReason,
  ModelParameters,
} from '../../../agent-engine/contract.ts';
import { type AgenticBlock, createBlockCollector } from './agentic-blocks.ts';
import {
  type Answered,
  agentFailure,
  type ChatCall,
  ChatErrors,
  type EventSink,
  type SendAnswer,
  streamed,
} from './chat-call.ts';
import type { ChatParts, ClientRequest } from './chat-completions.ts';
import { type AnswerHead, answerHead, createChunkWriter } from './chunk-writer.ts';
import { type Conversation, composeConversation, newMessages, textOf } from './conversations.ts';
import { clientToolProblems, requestProblems } from './request-problems.ts';

/** A request of the agent route. */
export type AgentClientRequest = WithoutModel<ClientRequest> & {
  /** Absent: the agent's own, or `default`. */
  readonly model?: string;
  /** An agent of agents.d; absent: the default agent. */
  readonly agent?: string;
  readonly include_agentic_blocks?: boolean | null;
};

/** `Omit` would forget the named members of a type that allows others. */
type WithoutModel<T> = { readonly [K in keyof T as K extends 'model' ? never : K]: T[K] };

/** An answer with the steps that led to it, where they were asked for. */
export type AgentCompletion = ChatCompletion & { readonly agentic_blocks?: readonly AgenticBlock[] };

/** A run that is under way, in its conversation. */
interface Running {
  readonly conversation: Conversation;
  readonly events: AsyncIterable<AgentEvent>;
  readonly head: AnswerHead;
  /** The blocks of what the user said. */
  readonly said: readonly AgenticBlock[];
}

/** Chats with the tool-call loop (specification 1, Chat; decisions 1.6). */
export type AgentChat = ReturnType<typeof createAgentChat>;

/** Makes the service. */
export function createAgentChat(parts: ChatParts & { readonly agents: Agents }) {
  const { agents, models, conversations, guard, metering } = parts;

  async function start(request: AgentClientRequest, call: ChatCall): Promise<Running> {
    const { agent, model, messages, tools, tool_choice: toolChoice } = request;
    const errors = [...requestProblems(request), ...clientToolProblems(tools)];
    if (errors.length > 0) throw KernelErrors.invalidRequest(undefined, { errors });
    const alias = model ?? agents.list().find(({ name }) => name === agent)?.model ?? 'default';
    const conversation = await conversations.open(call, {
      messages,
      store: request.store !== false,
      contextLength: models.resolve(alias).info.context_length,
    });
    const events = agents.run({
      agent,
      model,
      messages: composeConversation(conversation.history, messages),
      preamble: conversation.preamble,
      secretPreamble: conversation.secretPrompt,
      parameters: modelParameters(request),
      clientTools: tools ?? undefined,
      toolChoice,
      pauses: 'refuse',
      context: {
        principal: call.principal,
        sessionId: conversation.sessionId,
        requestId: call.requestId,
        signal: conversation.signal,
        traceHeaders: call.traceHeaders,
        audit: call.audit,
        log: call.log,
      },
    });
    return {
      conversation,
      events,
      head: answerHead(alias, parts),
      said: newMessages(messages)
        .filter(({ role }) => role === 'user')
        .map((message) => ({ type: 'user_input_text', data: { text: guard.redact(textOf(message)) } })),
    };
  }

  async function keep({ conversation }: Running, { model, messages, uses }: AgentResult) {
    await conversation.keep({ model, source: 'agent', messages, uses });
    return metering.total(uses);
  }

  /** The whole answer. What fails in the run is `agent.failed` (502), and then nothing is stored. */
  async function complete(request: AgentClientRequest, call: ChatCall): Promise<Answered<AgentCompletion>> {
    const running = await start(request, call);
    await using conversation = running.conversation;
    const blocks = [...running.said];
    const collect = createBlockCollector();
    try {
      for await (const event of running.events) {
        blocks.push(...collect(event));
        if (event.type !== 'end') continue;
        const usage = await keep(running, event.result);
        const answer = {
          object: 'chat.completion',
          ...running.head,
          choices: [choiceOf(event.result)],
          usage,
        } as const;
        const showsBlocks = request.include_agentic_blocks === true;
        return {
          sessionId: conversation.sessionId,
          answer: showsBlocks ? { ...answer, agentic_blocks: blocks } : answer,
        };
      }
      throw withoutAnswer();
    } catch (error) {
      throw agentFailure(conversation.failure(error));
    }
  }

  /** Begins an answer: resolves when the run has shown its first sign of life. */
  async function stream(request: AgentClientRequest, call: ChatCall): Promise<Answered<SendAnswer>> {
    const running = await start(request, call);
    const { conversation } = running;
    const send = (events: AsyncIterable<AgentEvent>, sink: EventSink) =>
      forward(running, events, request, sink);
    return streamed(conversation, running.events, send, {
      empty: withoutAnswer,
      failure: (error) => agentFailure(conversation.failure(error)),
    });
  }

  async function forward(
    running: Running,
    events: AsyncIterable<AgentEvent>,
    { stream_options, include_agentic_blocks: showsBlocks }: AgentClientRequest,
    sink: EventSink,
  ): Promise<void> {
    const writer = createChunkWriter(running.head, stream_options?.include_usage === true);
    const collect = createBlockCollector();
    const sendBlocks = async (blocks: readonly AgenticBlock[]) => {
      if (showsBlocks !== true) return;
      // Client libraries ignore names of events and read each one as a chunk: `choices` keeps them content.
      for (const block of blocks) {
        await sink.send({ event: 'agentic_block', data: JSON.stringify({ ...block, choices: [] }) });
      }
    };
    await sendBlocks(running.said);
    for await (const event of events) {
      const delta = deltaOf(event);
      if (delta !== undefined) await sink.data(writer.choices([{ index: 0, delta, finish_reason: null }]));
      await sendBlocks(collect(event));
      if (event.type !== 'end') continue;
      const { result } = event;
      // The end is sent only when the turn is durable.
      const usage = await keep(running, result);
      await sink.data(writer.choices([{ index: 0, delta: {}, finish_reason: finishReason(result.finish) }]));
      for (const text of writer.end(usage)) await sink.data(text);
      return;
    }
    throw withoutAnswer();
  }

  return { complete, stream };
}

function withoutAnswer() {
  return ChatErrors.agentFailed('The agent ended without an answer.', { retryable: false });
}

/** What of a request is the model's, and not the gateway's. */
function modelParameters(request: AgentClientRequest): ModelParameters {
  const {
    model: _model,
    messages: _messages,
    tools: _tools,
    tool_choice: _choice,
    stream: _stream,
    stream_options: _options,
    store: _store,
    agent: _agent,
    include_agentic_blocks: _blocks,
    ...parameters
  } = request;
  return parameters;
}

type Delta = ChatChunk['choices'][number]['delta'];

/** What an event adds to the answer that OpenAI's clients read. */
function deltaOf(event: AgentEvent): Delta | undefined {
  if (event.type === 'text') return { content: event.delta };
  if (event.type === 'reasoning') return { reasoning_content: event.delta };
  if (event.type !== 'end' || event.result.toolCalls === undefined) return undefined;
  return { tool_calls: event.result.toolCalls.map((call, index) => ({ index, ...call })) };
}

function choiceOf({ finish, text, toolCalls }: AgentResult): ChatCompletion['choices'][number] {
  const content = text === '' && toolCalls !== undefined ? null : text;
  return {
    index: 0,
    message: { role: 'assistant', content, ...(toolCalls && { tool_calls: toolCalls }) },
    finish_reason: finishReason(finish),
  };
}

/** The cap of model calls is shown as `length` (decisions 1.6). */
function finishReason(finish: AgentFinish): FinishReason {
  return finish === 'iteration_limit' ? 'length' : finish;
}
