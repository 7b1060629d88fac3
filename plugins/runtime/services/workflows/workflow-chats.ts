import type { Clock, Database, Ids } from 'agent-gateway';
import type { ChatCall, ChatMessage } from '../../../agent-engine/contract.ts';
import { type JsonObject, WorkflowErrors } from '../../../workflow/contract.ts';
import type { Conversations } from '../conversations.ts';
import type { ChatMessageRecord } from '../v3-chat/chat-messages.ts';
import { NO_USAGE, seconds, toChatMessage } from '../v3-chat/chat-record.ts';
import type { Emit } from '../v3-chat/chat-run.ts';
import type { ConversationMessages } from '../v3-chat/conversation-messages.ts';
import type { RunCaller, WorkflowRuns } from './workflow-runs.ts';
import type { WorkflowStreamEvent } from './workflow-stream.ts';

/** A chat request to a workflow. */
export interface WorkflowChatRequest {
  readonly workflowId: string;
  /** Absent: a new conversation. */
  readonly conversationId: string | undefined;
  readonly messages: readonly ChatMessage[];
  /** The last message, as text. */
  readonly text: string;
  readonly parameters: JsonObject;
}

/** The dependencies of `createWorkflowChats`. */
interface WorkflowChatParts {
  readonly runs: WorkflowRuns;
  readonly conversations: Pick<Conversations, 'get' | 'create' | 'remove'>;
  readonly said: Pick<ConversationMessages, 'inspect' | 'say'>;
  readonly database: Pick<Database, 'forTenant'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Chats with workflows (decisions 3.3): a run whose result is the answer. */
export type WorkflowChats = ReturnType<typeof createWorkflowChats>;

/** Makes the service. */
export function createWorkflowChats({ runs, conversations, said, database, clock, ids }: WorkflowChatParts) {
  return {
    /**
     * Starts the run with the parameters, the last message as `USER_INPUT`, and `CONVERSATION_ID`. `follow` must be
     * called; messages and answer are stored in the conversation when the run completes while a client follows it.
     */
    async begin(caller: RunCaller, call: ChatCall, request: WorkflowChatRequest) {
      const { principal, isAdmin } = call;
      const { workflowId, messages, text, parameters } = request;
      const entities = database.forTenant(principal.tenantId);
      const reader = { ...principal, isAdmin };
      // First: what cannot run, or may not be said, leaves no conversation behind.
      await said.inspect(call, messages);
      const version = await runs.resolve(caller, workflowId);
      const { definitionId: botId } = version;
      const { id: conversationId } =
        request.conversationId === undefined
          ? await conversations.create(entities, principal, { botId })
          : await conversations.get(entities, reader, request.conversationId);
      const input = { ...parameters, USER_INPUT: text, CONVERSATION_ID: conversationId };
      const place = await runs.start(caller, version, input).catch(async (error: unknown) => {
        // Nothing was stored; after other errors the run may be there, and name the conversation.
        if (request.conversationId === undefined && WorkflowErrors.contextTooLarge.is(error))
          await conversations.remove(entities, reader, conversationId);
        throw error;
      });
      const chat = {
        id: place.runId,
        conversation_id: conversationId,
        bot_id: botId,
        created_at: seconds(clock.now()),
        // A run has no usage of its own: what its agents use is recorded with their sessions.
        usage: NO_USAGE,
      };

      async function answer(result: JsonObject, emit: Emit): Promise<void> {
        const content = textOfResult(result);
        const message: ChatMessageRecord = {
          id: ids.uuid(),
          type: 'answer',
          content,
          reasoning: '',
          createdAt: clock.now(),
        };
        const data = toChatMessage({ id: place.runId, conversationId, botId }, message);
        await emit({ event: 'conversation.message.delta', data });
        await said.say({ ...call, sessionId: conversationId }, [...messages, { role: 'assistant', content }]);
        await emit({ event: 'conversation.message.completed', data });
      }

      async function follow(signal: AbortSignal, emit: Emit): Promise<void> {
        await emit({ event: 'conversation.chat.created', data: { ...chat, status: 'created' } });
        await emit({ event: 'conversation.chat.in_progress', data: { ...chat, status: 'in_progress' } });
        const interrupts: WorkflowStreamEvent[] = [];
        let end = { event: 'requires_action', more: {} };
        for await (const event of runs.events(place, { after: undefined, signal })) {
          if (event.result !== undefined) await answer(event.result, emit);
          if (event.event === 'Interrupt') interrupts.push(event);
          else if (event.event !== 'Message') end = endOf(event, seconds(clock.now()));
        }
        if (end.event === 'requires_action') end.more = { required_action: requiredAction(interrupts) };
        const data = { ...chat, status: end.event, ...end.more };
        await emit({ event: `conversation.chat.${end.event}`, data });
        await emit({ event: 'done' });
      }

      return { place, version, conversationId, follow };
    },
  };
}

function endOf({ event, data }: WorkflowStreamEvent, now: number) {
  if (event === 'Done') return { event: 'completed', more: { completed_at: now } };
  const { error_code: code, error_message: msg } = data as { error_code: number; error_message: string };
  return { event: 'failed', more: { completed_at: now, failed_at: now, last_error: { code, msg } } };
}

/** Tasks that wait; `stream_resume` takes their ids as `event_id`. */
function requiredAction(interrupts: readonly WorkflowStreamEvent[]) {
  const tool_calls = interrupts.map(({ data }) => {
    const { interrupt_data, node_title } = data as {
      interrupt_data: { event_id: string };
      node_title: string;
    };
    return { id: interrupt_data.event_id, type: 'function', function: { name: node_title, arguments: '{}' } };
  });
  return { type: 'submit_tool_outputs', submit_tool_outputs: { tool_calls } };
}

/** The text of an agent's output, else all of the result as JSON. Pure. */
function textOfResult(result: JsonObject): string {
  const { text } = result;
  return typeof text === 'string' ? text : JSON.stringify(result);
}
