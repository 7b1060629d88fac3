import type {
  Clock,
  Database,
  GatewayError,
  Page,
  SseEvent,
  SseStream,
  TenantEntityManager,
} from 'agent-gateway';
import {
  AgentErrors,
  type Agents,
  type AgentTurn,
  type AgentTurns,
  type ChatCall,
  type Checkpoints,
  type Interrupt,
  type OpenInterrupts,
  type TurnEnd,
} from '../../../agent-engine/contract.ts';
import type { OwnerReader, Sessions } from '../../../records/contract.ts';
import type { Conversations } from '../conversations.ts';
import { atRequest } from '../decision-errors.ts';
import { movesOf } from '../v3-chat/chat-ends.ts';
import { a2uiEvents, interruptOnWire } from './a2ui-events.ts';
import type { AlsoWrite, BackgroundChats } from './background-chats.ts';
import type { ChatReading, LastSeen } from './chat-readers.ts';
import { nothing, together } from './reported-turns.ts';
import { placeInInput, type ResumeInput, readDecisions } from './resume-input.ts';
import { sendTurn } from './send-turn.ts';
import { errorEvent, onWire, type StreamMode } from './stream-format.ts';

/** A chat that has begun. */
export interface BegunChat {
  readonly sessionId: string;
  /** Sends the events of the chat; must be called exactly once. Throws the error that broke the chat. */
  readonly send: (stream: SseStream) => Promise<void>;
}

/** A session and its agent. */
interface ChatPlace {
  readonly agentId: string;
  readonly sessionId: string;
}

/** The dependencies of `createChats`. */
interface ChatParts {
  readonly agents: Pick<Agents, 'find'>;
  readonly turns: AgentTurns;
  readonly checkpoints: Pick<Checkpoints, 'find' | 'list'>;
  readonly sessions: Pick<Sessions, 'get'>;
  readonly conversations: Pick<Conversations, 'agentOf'>;
  readonly database: Pick<Database, 'forTenant'>;
  readonly background: BackgroundChats;
  readonly clock: Clock;
}

/** How a chat is run and its stream written. */
export interface ChatStyle {
  readonly mode: StreamMode;
  /** Whether it continues when its client disconnects. */
  readonly isBackground: boolean;
}

/** Chats of the v2 API (specification 3; decisions 3.1). */
export type Chats = ReturnType<typeof createChats>;

/** Makes the service. */
export function createChats(parts: ChatParts) {
  const { agents, turns, checkpoints, sessions, conversations, background, database, clock } = parts;

  async function requireAgent(tenantId: string, agentId: string): Promise<void> {
    if ((await agents.find(tenantId, agentId)) !== undefined) return;
    throw AgentErrors.notFound(`There is no agent "${agentId.slice(0, 100).toWellFormed()}".`, {
      param: 'agent_id',
    });
  }

  /**
   * Begins a turn: resolves at its first event. Where no agent is named, that of the session's conversation answers, or
   * else the default agent, which cannot pause, since a client could not name it to resume. Throws `agent.not-found`,
   * and what `AgentTurns.begin` throws.
   */
  async function begin(
    call: ChatCall,
    agentId: string | undefined,
    message: string,
    also: AlsoWrite = nothing,
  ): Promise<AgentTurn> {
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
    return turns.begin(call, {
      agent,
      messages: [{ role: 'user', content: message }],
      pauses: agent === undefined ? 'refuse' : 'allow',
      store: true,
      source: 'runtime',
      also,
    });
  }

  /** A turn as an event stream. */
  const written = (turn: AgentTurn, mode: StreamMode): BegunChat => ({
    sessionId: turn.sessionId ?? '',
    async send(stream) {
      await sendTurn(turn, async (event) => {
        for (const one of a2uiEvents(event)) {
          for (const line of onWire(mode, one, clock.now())) await stream.send(line);
        }
      });
    },
  });

  /** A chat in the background as an event stream, whose events have ids. */
  const read = (tenantId: string, reading: ChatReading, mode: StreamMode): BegunChat => ({
    sessionId: reading.sessionId,
    async send(stream) {
      for await (const { seq, event } of background.follow(tenantId, reading, stream.signal)) {
        const id = `${reading.chatId}:${seq}`;
        for (const line of onWire(mode, event, event.at)) await stream.send({ ...line, id });
      }
    },
  });

  /** Runs a turn in the foreground or in the background. */
  async function carriedOut(
    call: ChatCall,
    { mode, isBackground }: ChatStyle,
    beginTurn: (call: ChatCall, more: AlsoWrite) => Promise<AgentTurn>,
  ): Promise<BegunChat> {
    if (!isBackground) return written(await beginTurn(call, nothing), mode);
    return read(call.principal.tenantId, await background.start(call, beginTurn), mode);
  }

  return {
    begin,

    /** Begins a turn of a named agent, as an event stream. */
    stream: (call: ChatCall, agentId: string, message: string, style: ChatStyle): Promise<BegunChat> =>
      carriedOut(call, style, (inner, more) => begin(inner, agentId, message, more)),

    /**
     * Resumes a paused chat; a chat of the v3 API that waited for this is complete then, or waits again. Throws
     * `request.invalid`, and what `AgentTurns.resume` throws.
     */
    async resume(call: ChatCall, place: ChatPlace, input: ResumeInput, style: ChatStyle): Promise<BegunChat> {
      const { agentId: agent, sessionId } = place;
      const entities = database.forTenant(call.principal.tenantId);
      const ofV3 = (end: TurnEnd) => movesOf(checkpoints, entities, { sessionId, agent }, end, clock.now());
      let decided: readonly Interrupt[] = [];
      try {
        return await carriedOut(call, style, (inner, more) =>
          turns.resume(inner, {
            agent,
            sessionId,
            source: 'runtime',
            decide(open) {
              decided = open;
              return readDecisions(input, open);
            },
            also: (end, session) => together(more(end, session), ofV3(end)),
          }),
        );
      } catch (error) {
        throw atRequest(error, (pointer) => placeInInput(input, decided, pointer));
      }
    },

    /**
     * Reads a background chat: the one that a client has begun to read, or the newest of the session. Undefined where
     * the client has read all of it. Throws `chat.not-found` and `chat.forbidden`.
     */
    async readAgain(
      entities: TenantEntityManager,
      reader: OwnerReader,
      place: { readonly sessionId: string; readonly lastSeen: LastSeen | undefined },
      mode: StreamMode,
    ): Promise<BegunChat | undefined> {
      const reading = await background.find(entities, reader, place);
      return (await background.hasMore(entities, reading))
        ? read(entities.tenantId, reading, mode)
        : undefined;
    },

    /**
     * The open pauses of a session; undefined where there are none. Throws `session.not-found` and `session.forbidden`.
     */
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

    /** The open pauses of all sessions that the reader may see, newest first; a page is counted in sessions. */
    async waitingAnywhere(entities: TenantEntityManager, reader: OwnerReader, page: Page) {
      const { open, total } = await checkpoints.list(entities, reader, page);
      return { states: open.map(toState), total };
    },

    /** Ends the chat in flight, or discards open pauses. False where there was neither. Throws `session.forbidden`. */
    abort: (entities: TenantEntityManager, reader: OwnerReader, { agentId, sessionId }: ChatPlace) =>
      turns.abort(entities, reader, { sessionId, agent: agentId }),

    /** The event for a failure inside a stream of the A2UI mode. */
    failure(error: GatewayError): SseEvent {
      const [line] = onWire('a2ui', errorEvent(error, ''), clock.now());
      return line!;
    },
  };
}

/** The open pauses of a session, as clients see them (decisions 3.1). */
function toState({ sessionId, agent, id, interrupts, createdAt }: OpenInterrupts) {
  return {
    session_id: sessionId,
    agent_id: agent,
    checkpoint_id: id,
    created_at: createdAt.toISOString(),
    interrupts: interrupts.map(interruptOnWire),
  };
}
