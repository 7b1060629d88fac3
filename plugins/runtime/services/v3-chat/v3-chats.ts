import {
  type Clock,
  type Database,
  type Ids,
  type Lease,
  LeaseErrors,
  type Leases,
  type TenantEntityManager,
} from 'agent-gateway';
import {
  AgentErrors,
  type Agents,
  type AgentTurns,
  type ChatCall,
  type ChatMessage,
  type Checkpoint,
  type Checkpoints,
} from '../../../agent-engine/contract.ts';
import { maySee, type OwnerReader, ownerOf } from '../../../records/contract.ts';
import { ChatEntity, type ChatRow, findChat, moveChat } from '../../store/chats.ts';
import type { Conversations } from '../conversations.ts';
import { atRequest } from '../decision-errors.ts';
import { createDetachedChats } from '../detached-chats.ts';
import { identityNote } from '../end-with-credential.ts';
import { createChatEnds } from './chat-ends.ts';
import type { ChatMessageRecord } from './chat-messages.ts';
import { continuedChat, recordedEnd, toChat, toChatMessage, V3ChatErrors } from './chat-record.ts';
import { type ChatWork, createChatRuns, type Emit } from './chat-run.ts';
import { placeInOutputs, readOutputs, type ToolOutput } from './tool-outputs.ts';

/** How often a cancellation is retried where the chat changes meanwhile. */
const CANCEL_ATTEMPTS = 5;
/** Milliseconds that outputs wait for the process that has just run the chat to release its lease. */
const RELEASE_MS = 5_000;

/** The request that begins a chat. */
export interface V3ChatRequest {
  readonly botId: string;
  /** Absent: a new conversation. */
  readonly conversationId: string | undefined;
  readonly messages: readonly ChatMessage[];
  /** False: no message is stored, and the agent cannot ask questions. */
  readonly isKept: boolean;
  readonly metaData: Readonly<Record<string, string>>;
}

/** Identifies a chat. */
export interface ChatPlace {
  readonly chatId: string;
  readonly conversationId: string;
}

/** A chat, and the checkpoint at which it waits. */
interface Standing {
  readonly row: ChatRow;
  readonly checkpoint?: Checkpoint | undefined;
}

/** A chat that has begun. Exactly one of `follow` and `detach` must be called, once. */
export interface BegunV3Chat {
  readonly chat: ReturnType<typeof toChat>;
  /** Runs it while the client reads; a client that disconnects cancels it. */
  follow(signal: AbortSignal, emit: Emit): Promise<void>;
  /** Runs it in the background. */
  detach(): void;
}

/** The dependencies of `createV3Chats`. */
interface V3ChatParts {
  readonly agents: Pick<Agents, 'find' | 'checkDecisions'>;
  readonly turns: AgentTurns;
  readonly checkpoints: Pick<Checkpoints, 'find' | 'take'>;
  readonly conversations: Pick<Conversations, 'get' | 'create'>;
  readonly database: Pick<Database, 'forTenant'>;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Chats of the v3 API, which continue after their request (decisions 3.3). */
export type V3Chats = ReturnType<typeof createV3Chats>;

/** Makes the service. */
export function createV3Chats(parts: V3ChatParts) {
  const { agents, turns, conversations, database, leases, clock, ids } = parts;
  const ends = createChatEnds(parts);
  const carryOut = createChatRuns({ ...parts, ends });
  const detached = createDetachedChats();

  async function find(
    entities: TenantEntityManager,
    reader: OwnerReader,
    { chatId, conversationId }: ChatPlace,
  ): Promise<ChatRow> {
    const row = await findChat(entities, chatId);
    if (row?.conversationId !== conversationId) throw V3ChatErrors.notFound();
    if (!maySee(row, reader)) throw V3ChatErrors.forbidden();
    return row;
  }

  /** Acquires the lease of a chat: as long as it is held, some process runs the chat. */
  async function hold({ principal, maxSessions, signal }: ChatCall, name: string): Promise<Lease> {
    const note = identityNote(principal.identityId);
    const wanted = { name, limit: maxSessions, wait: RELEASE_MS, signal, note };
    try {
      return await leases.acquire(v3ChatKey(principal.tenantId), wanted);
    } catch (error) {
      if (LeaseErrors.timeout.is(error)) throw V3ChatErrors.notInterrupted();
      if (!LeaseErrors.full.is(error)) throw error;
      throw V3ChatErrors.limit(undefined, { headers: { 'retry-after': '1' } });
    }
  }

  /**
   * A chat as it stands. One whose process has died gets its end here, and one whose pause was discarded without it is
   * canceled. Throws `chat.not-found`, `chat.forbidden`.
   */
  async function standing(
    entities: TenantEntityManager,
    reader: OwnerReader,
    place: ChatPlace,
  ): Promise<Standing> {
    let row = await find(entities, reader, place);
    if (row.status === 'in_progress') {
      if ((await leases.find(v3ChatKey(entities.tenantId), row.id)) !== undefined) return { row };
      const end = recordedEnd(row, clock.now());
      row = await ends.settle(entities, row, end ?? (await ends.broken(entities, row, V3ChatErrors.lost())));
    }
    if (row.status !== 'requires_action') return { row };
    const checkpoint = await ends.pauseOf(entities, row);
    if (checkpoint !== undefined) return { row, checkpoint };
    return { row: await ends.settle(entities, row, canceled()) };
  }

  const canceled = () => ({ status: 'canceled' as const, completedAt: new Date(clock.now()) });

  function begun(work: ChatWork): BegunV3Chat {
    return {
      chat: toChat(work.row),
      follow: (signal, emit) => carryOut(work, signal, emit),
      detach() {
        const { log } = work.call;
        const done = carryOut(work, detached.signal, () => undefined).catch((err: unknown) =>
          log.error({ err, chat_id: work.row.id }, 'the end of a chat was not written'),
        );
        void detached.add(done);
      },
    };
  }

  async function begin(call: ChatCall, request: V3ChatRequest): Promise<BegunV3Chat> {
    const { botId, messages, isKept, metaData } = request;
    if ((await agents.find(call.principal.tenantId, botId)) === undefined) {
      throw AgentErrors.notFound(`There is no bot "${botId.slice(0, 100).toWellFormed()}".`, {
        param: 'bot_id',
      });
    }
    const { principal, isAdmin } = call;
    const entities = database.forTenant(principal.tenantId);
    if (request.conversationId !== undefined)
      await conversations.get(entities, { ...principal, isAdmin }, request.conversationId);
    const id = ids.uuid();
    // Before the conversation is made: a chat that is refused leaves none behind.
    const lease = await hold(call, id);
    try {
      const conversationId =
        request.conversationId ?? (await conversations.create(entities, principal, { botId })).id;
      const row: ChatRow = {
        id,
        ...ownerOf(principal),
        conversationId,
        botId,
        status: 'in_progress',
        metaData: JSON.stringify(metaData),
        result: '{}',
        messages: '[]',
        createdAt: new Date(clock.now()),
        completedAt: null,
      };
      await entities.insert(ChatEntity, row);
      return begun({
        row,
        lease,
        isKept,
        call: { ...call, sessionId: isKept ? conversationId : undefined },
        begin: (inner, also) =>
          turns.begin(inner, {
            also,
            agent: botId,
            messages,
            pauses: isKept ? 'allow' : 'refuse',
            store: isKept,
            source: 'runtime',
          }),
      });
    } catch (error) {
      await lease.release();
      throw error;
    }
  }

  async function submit(
    call: ChatCall,
    reader: OwnerReader,
    place: ChatPlace,
    outputs: readonly ToolOutput[],
  ): Promise<BegunV3Chat> {
    const entities = database.forTenant(call.principal.tenantId);
    const { row, checkpoint } = await standing(entities, reader, place);
    const { id, botId: agent, conversationId: sessionId } = row;
    if (checkpoint === undefined) throw V3ChatErrors.notInterrupted();
    const decisions = readOutputs(outputs, checkpoint.interrupts);
    try {
      agents.checkDecisions(checkpoint, decisions);
    } catch (error) {
      throw atRequest(error, (pointer) => placeInOutputs(outputs, pointer));
    }
    const lease = await hold(call, id);
    const change = continuedChat(row);
    try {
      if (!(await moveChat(entities, row, change))) throw V3ChatErrors.notInterrupted();
    } catch (error) {
      await lease.release();
      throw error;
    }
    return begun({
      call,
      lease,
      isKept: true,
      row: { ...row, ...change },
      begin: (inner, also) =>
        turns.resume(inner, { agent, sessionId, also, source: 'runtime', decide: () => decisions }),
    });
  }

  return {
    /** Throws `agent.not-found`, `conversation.not-found`, `conversation.forbidden`, `chat.limit`. */
    begin: (...asked: Parameters<typeof begin>) => detached.add(begin(...asked)),

    /**
     * Resumes a chat that waits. Throws `chat.not-interrupted`, `request.invalid`, `agent.decision-invalid`, and what
     * `retrieve` throws.
     */
    submit: (...asked: Parameters<typeof submit>) => detached.add(submit(...asked)),

    /** Throws `chat.not-found`, `chat.forbidden`. A chat whose process has crashed counts as failed, or waits again. */
    async retrieve(entities: TenantEntityManager, reader: OwnerReader, place: ChatPlace) {
      const { row, checkpoint } = await standing(entities, reader, place);
      return toChat(row, checkpoint?.interrupts);
    },

    /** Ends a chat, on any replica, and discards its pause. Throws `chat.finished`, and what `retrieve` throws. */
    async cancel(entities: TenantEntityManager, reader: OwnerReader, place: ChatPlace) {
      for (let attempt = 0; attempt < CANCEL_ATTEMPTS; attempt += 1) {
        const row = await find(entities, reader, place);
        const end = recordedEnd(row, clock.now());
        if (end !== undefined) {
          await ends.settle(entities, row, end);
          continue;
        }
        const { status: from } = row;
        if (from !== 'in_progress' && from !== 'requires_action' && from !== 'canceled') {
          throw V3ChatErrors.finished(`The chat has ended: it is ${from}`);
        }
        const change = from === 'canceled' ? {} : canceled();
        if (from !== 'canceled' && !(await moveChat(entities, row, change))) continue;
        if (from === 'in_progress') await leases.revoke(v3ChatKey(entities.tenantId), row.id);
        // Of a chat that was canceled before as well: the process that did it may have died before this.
        await ends.discard(entities, row);
        return toChat({ ...row, ...change });
      }
      throw V3ChatErrors.finished('The chat moves on too fast; try again');
    },

    /** The messages of a chat, oldest first; none until it has ended or waits. */
    async messages(entities: TenantEntityManager, reader: OwnerReader, place: ChatPlace) {
      const row = await find(entities, reader, place);
      const messages: readonly ChatMessageRecord[] = JSON.parse(row.messages);
      return messages.map((message) => toChatMessage(row, message));
    },

    /** Waits for the chats in the background; they fail when `signal` aborts. */
    close: detached.close,
  };
}

/** The key of the leases of a tenant's chats. */
export function v3ChatKey(tenantId: string): string {
  return `runtime-chats:${tenantId}`;
}
