import { type Ids, type Logger, TenantErrors, type Tenants } from 'agent-gateway';
import { isUsageSource } from '../../../records/contract.ts';
import {
  type AgentTurn,
  type AgentTurns,
  type ChatAnswer,
  type ChatEvent,
  type ChatRun,
  type Chats,
  type TurnEnd,
  TurnErrors,
} from '../../contract.ts';

/** What chats are made of. */
export interface ChatsParts {
  readonly turns: Pick<AgentTurns, 'begin'>;
  readonly tenants: Pick<Tenants, 'get'>;
  readonly ids: Ids;
  readonly log: Logger;
}

/** Chats in one call, over turns of agents. */
export function createChats({ turns, tenants, ids, log }: ChatsParts): Chats {
  async function begin(chat: ChatRun): Promise<AgentTurn> {
    const { tenantId, userId, identityId = userId, sessionId, also } = chat;
    const { agent, model, messages, source, context = 'full', store = true, parameters, signal } = chat;
    if (!isUsageSource(source))
      throw new TypeError(`"${source}" is no source of usage: use the plugin's name`);
    if (also !== undefined && !store)
      throw new TypeError('`also` is kept with the chat, which `store: false` does not');
    const tenant = await tenants.get(tenantId);
    if (tenant === undefined || tenant.deletedAt !== null) throw TenantErrors.notFound();
    const call = {
      principal: { tenantId, identityId, userId },
      isAdmin: false,
      maxSessions: tenant.maxSessions,
      sessionId,
      context,
      signal,
      log,
      requestId: chat.requestId ?? ids.uuid(),
      traceHeaders: {},
      audit: () => {},
    };
    return turns.begin(call, {
      agent,
      model,
      messages,
      parameters,
      store,
      source,
      pauses: 'refuse',
      ...(also && { also: async (end, session) => also(answerOf(end, session)) }),
    });
  }

  async function* eventsOf({ events, sessionId }: AgentTurn): AsyncGenerator<ChatEvent, void> {
    for await (const event of events) {
      yield event.type === 'end' ? { type: 'end', answer: answerOf(event, sessionId) } : event;
    }
  }

  return {
    async run(chat) {
      await using turn = await begin(chat);
      for await (const event of eventsOf(turn)) if (event.type === 'end') return event.answer;
      throw TurnErrors.failed('The agent ended without an answer.', { retryable: false });
    },
    async stream(chat) {
      const turn = await begin(chat);
      return {
        sessionId: turn.sessionId,
        events: eventsOf(turn),
        [Symbol.asyncDispose]: () => turn[Symbol.asyncDispose](),
      };
    },
  };
}

function answerOf({ result, usage }: TurnEnd, sessionId: string | undefined): ChatAnswer {
  const { text, finish, model, messages } = result;
  const message = messages.findLast(({ role }) => role === 'assistant') ?? {
    role: 'assistant',
    content: text,
  };
  return { text, sessionId, usage, message, finish, model };
}
