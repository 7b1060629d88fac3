import { type Clock, type Ids, requireSound } from 'agent-gateway';
import {
  type AgentFinish,
  type AgentResult,
  type AgentTurn,
  type AgentTurnEvent,
  type AgentTurns,
  type ChatCall,
  type ChatChunk,
  type ChatCompletion,
  type FinishReason,
  type Guard,
  type ModelParameters,
  newMessages,
  textOf,
} from '../../../agent-engine/contract.ts';
import { type AgenticBlock, createBlockCollector } from './agentic-blocks.ts';
import { type Answered, DONE, type EventSink, type SendAnswer } from './chat-call.ts';
import { type ClientRequest, forProvider } from './chat-completions.ts';
import { type AnswerHead, answerHead, createChunkWriter } from './chunk-writer.ts';
import { clientToolProblems, requestProblems } from './request-problems.ts';

/** A request of the agent route. */
export type AgentClientRequest = WithoutModel<ClientRequest> & {
  /** Absent: the agent's own, or `default`. */
  readonly model?: string;
  /** An agent of agents.d; absent: the default agent. */
  readonly agent?: string;
  readonly include_agentic_blocks?: boolean | null;
};

/** `Omit` would lose the named members of a type that allows others. */
type WithoutModel<T> = { readonly [K in keyof T as K extends 'model' ? never : K]: T[K] };

/** An answer with the steps that led to it, where they were asked for. */
export type AgentCompletion = ChatCompletion & { readonly agentic_blocks?: readonly AgenticBlock[] };

/** A turn in progress. */
interface Running {
  readonly turn: AgentTurn;
  readonly head: AnswerHead;
  /** The blocks of what the user said. */
  readonly said: readonly AgenticBlock[];
}

/** The dependencies of `createAgentChat`. */
interface AgentChatParts {
  readonly turns: AgentTurns;
  readonly guard: Guard;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Chats with the tool-call loop (specification 1, Chat; decisions 1.6). */
export type AgentChat = ReturnType<typeof createAgentChat>;

/** Makes the service. */
export function createAgentChat(parts: AgentChatParts) {
  const { turns, guard } = parts;

  async function start(request: AgentClientRequest, call: ChatCall): Promise<Running> {
    const { agent, model, messages, tools, tool_choice: toolChoice } = request;
    requireSound([...requestProblems(request), ...clientToolProblems(tools)]);
    const turn = await turns.begin(call, {
      agent,
      model,
      messages,
      parameters: modelParameters(request),
      clientTools: tools ?? undefined,
      toolChoice,
      pauses: 'refuse',
      store: request.store !== false,
      source: 'agent',
    });
    return {
      turn,
      head: answerHead(turn.model, parts),
      said: newMessages(messages)
        .filter(({ role }) => role === 'user')
        .map((message) => ({ type: 'user_input_text', data: { text: guard.redact(textOf(message)) } })),
    };
  }

  /** The whole answer. A failure of the run is `agent.failed` (502), and then nothing is stored. */
  async function complete(request: AgentClientRequest, call: ChatCall): Promise<Answered<AgentCompletion>> {
    const { turn, head, said } = await start(request, call);
    await using _ = turn;
    const blocks = [...said];
    const collect = createBlockCollector();
    let thoughts = '';
    for await (const event of turn.events) {
      blocks.push(...collect(event));
      if (event.type === 'reasoning') thoughts += event.delta;
      if (event.type !== 'end') continue;
      const { result, usage } = event;
      const choices = [choiceOf(result, thoughts)];
      const answer = { object: 'chat.completion', ...head, choices, usage } as const;
      const showsBlocks = request.include_agentic_blocks === true;
      return {
        sessionId: turn.sessionId,
        answer: showsBlocks ? { ...answer, agentic_blocks: blocks } : answer,
      };
    }
    throw new Error('A turn ends with its end, or throws');
  }

  /** Begins an answer: resolves at the first event of the run. */
  async function stream(request: AgentClientRequest, call: ChatCall): Promise<Answered<SendAnswer>> {
    const running = await start(request, call);
    const answer = async (sink: EventSink) => {
      await forward(running, request, sink);
      await sink.data(DONE);
    };
    return { sessionId: running.turn.sessionId, answer };
  }

  async function forward(
    { turn, head, said }: Running,
    { stream_options, include_agentic_blocks: showsBlocks }: AgentClientRequest,
    sink: EventSink,
  ): Promise<void> {
    await using _ = turn;
    const writer = createChunkWriter(head, stream_options?.include_usage === true);
    const collect = createBlockCollector();
    const sendBlocks = async (blocks: readonly AgenticBlock[]) => {
      if (showsBlocks !== true) return;
      // Client libraries ignore the names of events and read each event as a chunk, so each needs `choices`.
      for (const block of blocks) {
        await sink.send({ event: 'agentic_block', data: JSON.stringify({ ...block, choices: [] }) });
      }
    };
    await sendBlocks(said);
    for await (const event of turn.events) {
      const delta = deltaOf(event);
      if (delta !== undefined) await sink.data(writer.choices([{ index: 0, delta, finish_reason: null }]));
      await sendBlocks(collect(event));
      if (event.type !== 'end') continue;
      const choice = { index: 0, delta: {}, finish_reason: finishReason(event.result.finish) };
      await sink.data(writer.choices([choice]));
      const usage = writer.usage(event.usage);
      if (usage !== undefined) await sink.data(usage);
    }
  }

  return { complete, stream };
}

/** The members of a request that are meant for the model, not for the gateway. */
function modelParameters(request: AgentClientRequest): ModelParameters {
  const {
    model: _model,
    messages: _messages,
    tools: _tools,
    tool_choice: _choice,
    stream: _stream,
    stream_options: _options,
    agent: _agent,
    include_agentic_blocks: _blocks,
    ...parameters
  } = forProvider(request);
  return parameters;
}

type Delta = ChatChunk['choices'][number]['delta'];

/** The delta for OpenAI's clients that an event adds to the answer. */
function deltaOf(event: AgentTurnEvent): Delta | undefined {
  if (event.type === 'text') return { content: event.delta };
  if (event.type === 'reasoning') return { reasoning_content: event.delta };
  if (event.type !== 'end' || event.result.toolCalls === undefined) return undefined;
  return { tool_calls: event.result.toolCalls.map((call, index) => ({ index, ...call })) };
}

/** @param thoughts of the whole turn, as a stream shows them */
function choiceOf(
  { finish, text, toolCalls }: AgentResult,
  thoughts: string,
): ChatCompletion['choices'][number] {
  const content = text === '' && toolCalls !== undefined ? null : text;
  return {
    index: 0,
    message: {
      role: 'assistant',
      content,
      ...(thoughts !== '' && { reasoning_content: thoughts }),
      ...(toolCalls && { tool_calls: toolCalls }),
    },
    finish_reason: finishReason(finish),
  };
}

/** The cap of model calls is shown as `length` (decisions 1.6). */
function finishReason(finish: AgentFinish): FinishReason {
  return finish === 'iteration_limit' ? 'length' : finish;
}
