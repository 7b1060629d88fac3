import { type Clock, defineErrors, type Ids, type Page, type TenantEntityManager } from 'agent-gateway';
import {
  type MessageOutline,
  maySee,
  type OwnerReader,
  ownerOf,
  type Principal,
  SessionErrors,
  type SessionMessage,
  type Sessions,
  visibleTo,
} from '../../records/contract.ts';
import { deleteEventsIn } from '../store/chat-events.ts';
import { ChatEntity, deleteChatsIn } from '../store/chats.ts';
import {
  ConversationEntity,
  type ConversationRow,
  findConversation,
  findConversations,
  findTitles,
} from '../store/conversations.ts';

/** A conversation of a user with an agent (decisions 3.2). */
export interface ConversationRecord {
  readonly id: string;
  /** The agent with which it was begun. */
  readonly botId: string;
  readonly userId: string;
  readonly title: string;
  readonly metaData: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The members of a conversation that clients set. */
export interface ConversationChange {
  readonly title?: string | undefined;
  readonly metaData?: Readonly<Record<string, unknown>> | undefined;
}

/** The query of a list of conversations. */
export interface ConversationQuery extends Page {
  readonly botId?: string | undefined;
  readonly keyword?: string | undefined;
}

/**
 * Conversations whose titles are searched in this process: databases would differ in what they find, and would read all
 * titles as well.
 */
const SEARCHED = 1_000;

/** Bytes of metadata as JSON: a list returns those of 500 conversations. */
const MAX_META_DATA = 64 * 1024;

/** The errors of conversations. */
export const ConversationErrors = defineErrors({
  notFound: { code: 'conversation.not-found', kind: 'not-found', title: 'There is no such conversation' },
  forbidden: {
    code: 'conversation.forbidden',
    kind: 'forbidden',
    title: 'The conversation belongs to another user',
  },
  metaDataTooLarge: {
    code: 'conversation.meta-data-too-large',
    kind: 'too-large',
    title: 'The metadata are too large',
  },
});

/** Conversations of tenants. */
export type Conversations = ReturnType<typeof createConversations>;

/** The dependencies of `createConversations`. */
interface ConversationParts {
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly ids: Ids;
}

/**
 * Makes the service. Every method but `create` throws `conversation.not-found`, and `conversation.forbidden` for
 * another user's; `create` and `change` throw `conversation.meta-data-too-large`.
 */
export function createConversations({ sessions, clock, ids }: ConversationParts) {
  async function find(
    entities: TenantEntityManager,
    reader: OwnerReader,
    id: string,
  ): Promise<ConversationRow> {
    const row = await findConversation(entities, id);
    if (row === undefined) throw ConversationErrors.notFound();
    if (!maySee(row, reader)) throw ConversationErrors.forbidden();
    return row;
  }

  return {
    /**
     * The conversations that the reader may see, newest first. A `keyword` is searched in the titles of the newest
     * 1,000, ignoring case.
     */
    async list(
      entities: TenantEntityManager,
      reader: OwnerReader,
      { botId, keyword, ...page }: ConversationQuery,
    ): Promise<{ readonly conversations: readonly ConversationRecord[]; readonly total: number }> {
      const where = { ...visibleTo(reader), ...(botId !== undefined && { botId }) };
      if (keyword === undefined) {
        const rows = await findConversations(entities, where, page);
        return { conversations: rows.map(toRecord), total: await entities.count(ConversationEntity, where) };
      }
      const wanted = keyword.toLowerCase();
      const found = (await findTitles(entities, where, SEARCHED))
        .filter(({ title }) => titleOf(title).toLowerCase().includes(wanted))
        .map(({ id }) => id);
      const $in = found.slice(page.offset, page.offset + page.limit);
      if ($in.length === 0) return { conversations: [], total: found.length };
      const shown = { limit: $in.length, offset: 0 };
      const rows = await findConversations(entities, { ...where, id: { $in } }, shown);
      return { conversations: rows.map(toRecord), total: found.length };
    },

    async create(
      entities: TenantEntityManager,
      principal: Principal,
      { botId, title = '', metaData = {} }: ConversationChange & { readonly botId: string },
    ): Promise<ConversationRecord> {
      const now = new Date(clock.now());
      const row = {
        id: ids.uuid(),
        ...ownerOf(principal),
        botId,
        title: JSON.stringify(title),
        metaData: metaDataText(metaData),
        createdAt: now,
        updatedAt: now,
      };
      await entities.insert(ConversationEntity, row);
      return toRecord(row);
    },

    get: async (entities: TenantEntityManager, reader: OwnerReader, id: string) =>
      toRecord(await find(entities, reader, id)),

    async change(
      entities: TenantEntityManager,
      reader: OwnerReader,
      id: string,
      { title, metaData }: ConversationChange,
    ): Promise<ConversationRecord> {
      const row = await find(entities, reader, id);
      const changed = {
        ...(title !== undefined && { title: JSON.stringify(title) }),
        ...(metaData !== undefined && { metaData: metaDataText(metaData) }),
        updatedAt: new Date(clock.now()),
      };
      if ((await entities.update(ConversationEntity, { id }, changed)) === 0)
        throw ConversationErrors.notFound();
      return toRecord({ ...row, ...changed });
    },

    /** Deletes a conversation with its messages. Throws `session.busy` while a turn is in flight. */
    async remove(entities: TenantEntityManager, reader: OwnerReader, id: string): Promise<void> {
      await find(entities, reader, id);
      await withoutSession(sessions.remove(entities, reader, id));
      await deleteChatsIn(entities, id);
      await entities.delete(ConversationEntity, { id });
    },

    /**
     * Messages oldest first: the newest `limit` before `before` (a `seq`; default: from the end). Empty before the
     * first message.
     */
    async messages(
      entities: TenantEntityManager,
      reader: OwnerReader,
      id: string,
      page: { readonly limit: number; readonly before?: number | undefined },
    ): Promise<{ readonly messages: readonly SessionMessage[]; readonly total: number }> {
      await find(entities, reader, id);
      const session = await withoutSession(sessions.get(entities, reader, id));
      return session === undefined ? { messages: [], total: 0 } : sessions.messages(entities, id, page);
    },

    /** The newest `limit` messages without their content, newest first. */
    async outlines(
      entities: TenantEntityManager,
      reader: OwnerReader,
      id: string,
      limit: number,
    ): Promise<readonly MessageOutline[]> {
      await find(entities, reader, id);
      const session = await withoutSession(sessions.get(entities, reader, id));
      return session === undefined ? [] : sessions.outlines(entities, id, { limit });
    },

    /** Throws `session.message-not-found` and `session.busy` too. */
    async removeMessage(
      entities: TenantEntityManager,
      reader: OwnerReader,
      place: { readonly conversationId: string; readonly messageId: string },
    ): Promise<void> {
      const { conversationId: sessionId, messageId } = place;
      await find(entities, reader, sessionId);
      // Chats and their events do not know which of their messages was deleted.
      async function also(inside: TenantEntityManager): Promise<void> {
        await inside.update(ChatEntity, { conversationId: sessionId }, { messages: '[]' });
        await deleteEventsIn(inside, sessionId);
      }
      const removed = sessions
        .removeMessage(entities, reader, { sessionId, messageId }, also)
        .then(() => true);
      if ((await withoutSession(removed)) === undefined) throw SessionErrors.messageNotFound();
    },

    /**
     * The agent of the conversation behind a session, if there is one. Refuses a turn in another user's conversation:
     * the caller would own its session.
     */
    async agentOf(
      entities: TenantEntityManager,
      reader: OwnerReader,
      sessionId: string,
    ): Promise<string | undefined> {
      const row = await findConversation(entities, sessionId);
      if (row !== undefined && !maySee(row, reader)) throw ConversationErrors.forbidden();
      return row?.botId;
    },
  };
}

function metaDataText(metaData: ConversationRecord['metaData']): string {
  const text = JSON.stringify(metaData);
  if (Buffer.byteLength(text) <= MAX_META_DATA) return text;
  throw ConversationErrors.metaDataTooLarge(`\`meta_data\` may have ${MAX_META_DATA} bytes as JSON`, {
    errors: [{ pointer: '/body/meta_data', message: `must have ${MAX_META_DATA} bytes at most as JSON` }],
  });
}

/** Undefined where there is no session yet: the first message makes it. */
async function withoutSession<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (SessionErrors.notFound.is(error)) return undefined;
    throw error;
  }
}

/** Titles are stored as JSON text. */
const titleOf = (stored: string): string => JSON.parse(stored);

function toRecord(row: Omit<ConversationRow, 'tenantId' | 'identityId'>): ConversationRecord {
  const { id, botId, userId, title, metaData, createdAt, updatedAt } = row;
  return {
    id,
    botId,
    userId,
    title: titleOf(title),
    metaData: JSON.parse(metaData),
    createdAt,
    updatedAt,
  };
}
