import type { Clock, Database, Page, SseEvent, SseStream, TenantEntityManager } from 'agent-gateway';
import {
  AgentErrors,
  type Agents,
  type AgentTurn,
  type AgentTurnEvent,
  type AgentTurns,
  type ChatCall,
  type Checkpoints,
  type OpenInterrupts,
} from '../../../agent-engine/contract.ts';
import type { OwnerReader, Sessions } from '../../../records/contract.ts';
import type { Conversations } from '../conversations.ts';
import type { WebhookEvents } from '../webhooks/webhook-events.ts';
import { type A2uiEvent, a2uiEvents, envelope, interruptOnWire, openInterrupts } from './a2ui-events.ts';
import { type ChatReport, reportChat } from './chat-report.ts';
import { type ResumeInput, readDecisions } from './resume-input.ts';

/** How a stream is written (specification 3, Streaming formats). */
export type StreamMode = 'legacy' | 'a2ui';

/** A chat that has begun. */
export interface BegunChat {
  readonly sessionId: string;
  /** Sends what happens; has to be called, once. Throws what broke the chat. */
  readonly send: (stream: SseStream) => Promise<void>;
}

/** A session, and the agent that speaks in it. */
interface ChatPlace {
  readonly agentId: string;
  readonly sessionId: string;
}

/** What chats are made of. */
interface ChatParts {
  readonly agents: Pick<Agents, 'find'>;
  readonly turns: AgentTurns;
  readonly checkpoints: Pick<Checkpoints, 'find' | 'list'>;
  readonly sessions: Pick<Sessions, 'get'>;
  readonly conversations: Pick<Conversations, 'agentOf'>;
  readonly database: Pick<Database, 'forTenant'>;
  readonly webhookEvents: WebhookEvents;
  readonly clock: Clock;
}

/** Chats of the v2 API (specification 3; decisions 3.1). */
export type Chats = ReturnType<typeof createChats>;

/** Makes the service. */
export function createChats(parts: ChatParts) {
  const { agents, turns, checkpoints, sessions, conversations, webhookEvents, database, clock } = parts;

  async function requireAgent(tenantId: string, agentId: string): Promise<void> {
    if ((await agents.find(tenantId, agentId)) !== undefined) return;
    throw AgentErrors.notFound(`There is no agent "${agentId.slice(0, 100).toWellFormed()}".`, {
      param: 'agent_id',
    });
  }

  /**
   * Begins a turn: resolves with its first sign of life. Without an agent that of the conversation behind the session answers, and where there
   * is none the default agent, which cannot pause: nobody could name it to resume. Throws `agent.not-found`, and what `AgentTurns.begin` throws.
   */
  async function begin(call: ChatCall, agentId: string | undefined, message: string): Promise<AgentTurn> {
    const { principal, sessionId, isAdmin } = call;
    const { tenantId } = principal;
    if (agentId !== undefined) await requireAgent(tenantId, agentId);
    const reader = { ...principal, isAdmin };
    const own =
      sessionId === undefined
        ? undefined
        : await conversations.agentOf(database.forTenant(tenantId), reader, sessionId);
    const agent = agentId ?? own;
    if (agent !== undefined && agentId === undefined) await requireAgent(tenantId, agent);
    const report = reportChat(webhookEvents, { agentId: agent, call });
    return reported(report, sessionId, () =>
      turns.begin(call, {
        agent,
        messages: [{ role: 'user', content: message }],
        pauses: agent === undefined ? 'refuse' : 'allow',
        store: true,
        source: 'runtime',
        also: (end, session) => report.writes(session, end),
      }),
    );
  }

  const onWire = ({ type, data }: A2uiEvent): SseEvent => ({
    event: type,
    data: envelope({ type, data }, clock.now()),
  });

  /** Begins a turn, and reports it: what fails before its first event as well. */
  async function reported(
    report: ChatReport,
    sessionId: string | undefined,
    begin: () => Promise<AgentTurn>,
  ): Promise<AgentTurn> {
    let turn: AgentTurn;
    try {
      turn = await begin();
    } catch (error) {
      if ((error as { kind?: unknown }).kind === 'upstream') await report.failed(sessionId, error);
      throw error;
    }
    return {
      sessionId: turn.sessionId,
      model: turn.model,
      events: watched(turn, report),
      [Symbol.asyncDispose]: () => turn[Symbol.asyncDispose](),
    };
  }

  async function* watched({ events, sessionId }: AgentTurn, report: ChatReport) {
    try {
      for await (const event of events) {
        report.saw(event);
        yield event;
      }
    } catch (error) {
      await report.failed(sessionId, error);
      throw error;
    }
  }

  /** A turn as an event stream. */
  const written = (turn: AgentTurn, mode: StreamMode): BegunChat => ({
    sessionId: turn.sessionId ?? '',
    async send(stream) {
      await using _ = turn;
      await (mode === 'a2ui' ? sendA2ui(turn.events, stream) : sendLegacy(turn.events, stream));
    },
  });

  async function sendA2ui(events: AsyncIterable<AgentTurnEvent>, stream: SseStream): Promise<void> {
    for await (const event of events) {
      for (const one of a2uiEvents(event)) await stream.send(onWire(one));
    }
  }

  /** Text, then the pauses where there are any, as named events, which readers of text pass over. */
  async function sendLegacy(events: AsyncIterable<AgentTurnEvent>, stream: SseStream): Promise<void> {
    for await (const event of events) {
      if (event.type === 'text') await stream.send({ data: event.delta });
      if (event.type !== 'end') continue;
      for (const { data } of openInterrupts(event)) {
        await stream.send({ event: 'interrupt', data: JSON.stringify(data) });
      }
      await stream.data('[DONE]');
    }
  }

  return {
    begin,

    /** The same for an agent that is named, as an event stream. */
    stream: async (call: ChatCall, agentId: string, message: string, mode: StreamMode): Promise<BegunChat> =>
      written(await begin(call, agentId, message), mode),

    /** Goes on with a paused chat. Throws `request.invalid`, and what `AgentTurns.resume` throws. */
    async resume(call: ChatCall, place: ChatPlace, input: ResumeInput, mode: StreamMode): Promise<BegunChat> {
      const { agentId: agent, sessionId } = place;
      const report = reportChat(webhookEvents, { agentId: agent, call });
      const turn = await reported(report, sessionId, () =>
        turns.resume(call, {
          agent,
          sessionId,
          source: 'runtime',
          decide: (open) => readDecisions(input, open),
          also: (end, session) => report.writes(session, end),
        }),
      );
      return written(turn, mode);
    },

    /** What waits in a session; undefined for nothing. Throws `session.not-found` and `session.forbidden`. */
    async waiting(entities: TenantEntityManager, reader: OwnerReader, { agentId, sessionId }: ChatPlace) {
      await sessions.get(entities, reader, sessionId);
      const found = await checkpoints.find(entities, { sessionId, agent: agentId });
      if (found === undefined) return undefined;
      const { checkpoint, createdAt } = found;
      return toState({
        sessionId,
        agent: agentId,
        id: checkpoint.id,
        interrupts: checkpoint.interrupts,
        createdAt,
      });
    },

    /** What waits in all sessions that the reader may see, newest first; a page has so many sessions. */
    async waitingAnywhere(entities: TenantEntityManager, reader: OwnerReader, page: Page) {
      const { open, total } = await checkpoints.list(entities, reader, page);
      return { states: open.map(toState), total };
    },

    /** Ends the chat in flight, or drops what waits. False where there was neither. Throws `session.forbidden`. */
    abort: (entities: TenantEntityManager, reader: OwnerReader, { agentId, sessionId }: ChatPlace) =>
      turns.abort(entities, reader, { sessionId, agent: agentId }),

    /** How a failure is told inside a stream of the A2UI mode. */
    failure: ({ code, detail }: { readonly code: string; readonly detail: string }): SseEvent =>
      onWire({ type: 'error', data: { code, message: detail } }),
  };
}

/** What waits in a session, as clients see it (decisions 3.1). */
function toState({ sessionId, agent, id, interrupts, createdAt }: OpenInterrupts) {
  return {
    session_id: sessionId,
    agent_id: agent,
    checkpoint_id: id,
    created_at: createdAt.toISOString(),
    interrupts: interrupts.map(interruptOnWire),
  };
}
