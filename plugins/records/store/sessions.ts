import type { InferEntity } from '@mikro-orm/core';
import {
  column,
  defineEntity,
  type Page,
  type PlainWhere,
  type RowWrite,
  type TenantEntityManager,
  writes,
} from 'agent-gateway';
import type { ChatMessage, ToolCall } from '../contract/chat.ts';
import { fitting } from '../contract/sessions.ts';

/** Lengths of the columns, in characters; the migration `001-sessions` has the same. */
export const SESSION_LENGTHS = { id: 128, owner: 255, model: 255 } as const;

/** A session as it is stored. Its id is unique in its tenant alone: clients choose it. */
export const Session = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  indexes: [
    { name: 'sessions_updated', properties: ['tenantId', 'updatedAt', 'id'] },
    { name: 'sessions_owner', properties: ['tenantId', 'identityId', 'userId', 'updatedAt'] },
    { name: 'sessions_identity', properties: ['tenantId', 'identityId', 'updatedAt', 'id'] },
    { name: 'sessions_user', properties: ['tenantId', 'userId', 'updatedAt', 'id'] },
  ],
  properties: {
    tenantId: column.tenant().primary(),
    id: column.string(SESSION_LENGTHS.id).primary(),
    identityId: column.string(SESSION_LENGTHS.owner),
    userId: column.string(SESSION_LENGTHS.owner),
    model: column.string(SESSION_LENGTHS.model),
    /** Also the revision: a turn is written only over the number that it began with. */
    turns: column.integer(),
    messageCount: column.integer(),
    /** Of all messages together, as they are stored. */
    messageBytes: column.bigint(),
    inputTokens: column.bigint(),
    outputTokens: column.bigint(),
    createdAt: column.time(),
    updatedAt: column.time(),
  },
});

/** A row of `sessions`. */
export type SessionRow = InferEntity<typeof Session>;

/** The tenant's session of this id, or null. */
export async function findSession(entities: TenantEntityManager, id: string): Promise<SessionRow | null> {
  const [row] = await entities.rows(Session, { id }, { limit: 1 });
  return row ?? null;
}

/** Which of these ids the tenant has a session of, that matches. */
export async function storedSessions(
  entities: TenantEntityManager,
  ids: readonly string[],
  where: PlainWhere<SessionRow> = {},
): Promise<ReadonlySet<string>> {
  const rows = await entities.rows(
    Session,
    { ...where, id: { $in: [...ids] } },
    { fields: ['id'], limit: ids.length },
  );
  return new Set(rows.map(({ id }) => id));
}

/**
 * A page of the tenant's sessions that match, the last used first, and the number of all; with `q` those that have it
 * in id, user or model.
 */
export function findSessions(
  entities: TenantEntityManager,
  where: PlainWhere<SessionRow>,
  { limit, offset, q }: Page & { readonly q?: string | undefined },
): Promise<[SessionRow[], number]> {
  const orderBy = { updatedAt: 'desc', id: 'desc' } as const;
  const search = q === undefined ? undefined : { text: q, in: ['id', 'userId', 'model'] as const };
  return entities.page(Session, where, { orderBy, limit, offset, search });
}

/**
 * The write of a session by a turn: a unique violation if the id of a new session is taken, no match if another turn
 * was written since `before` was read.
 */
export function sessionWrite(before: SessionRow | undefined, row: SessionRow): RowWrite {
  if (before === undefined) return writes.insert(Session, [row]);
  const { tenantId, id, identityId, userId, createdAt, ...changed } = row;
  return writes.update(Session, { id, turns: before.turns }, changed, { expect: 1 });
}

/** Longest role that is stored next to the message, in characters; the migration `001-sessions` has the same. */
export const ROLE_LENGTH = 32;

/** A message of a session as it is stored. */
export const SessionMessageEntity = defineEntity({
  name: 'SessionMessage',
  tableName: 'session_messages',
  properties: {
    tenantId: column.tenant().primary(),
    sessionId: column.string(128).primary(),
    /** Counts from 1, without gaps but for what retention took from the beginning. */
    seq: column.integer().unsigned(false).primary(),
    id: column.id(),
    /** The turn that brought it, from 1. */
    turn: column.integer(),
    /** The beginning of the message's role, to choose history by without reading the messages. */
    role: column.string(ROLE_LENGTH),
    /** JSON text: any character survives in it on every database. */
    message: column.text(),
    tokenCount: column.integer(),
    /** Of `message`, in UTF-8. */
    bytes: column.integer(),
    createdAt: column.time(),
  },
});

/** A row of `session_messages`. */
export type SessionMessageRow = InferEntity<typeof SessionMessageEntity>;

/** What history is chosen by. */
export type HistoryOutline = Pick<SessionMessageRow, 'id' | 'seq' | 'turn' | 'role' | 'tokenCount' | 'bytes'>;

/** Bytes of messages in one statement: MySQL takes 16 MiB, with everything around them and escaped. */
const MAX_STATEMENT = 4 * 1024 * 1024;

/** The writes of messages: one, unless they are too large for one statement. */
export function messageWrites(rows: readonly SessionMessageRow[]): RowWrite[] {
  const batches: SessionMessageRow[][] = [[]];
  let size = 0;
  for (const row of rows) {
    if (size > 0 && size + row.bytes > MAX_STATEMENT) {
      batches.push([]);
      size = 0;
    }
    batches.at(-1)?.push(row);
    size += row.bytes;
  }
  return batches.map((batch) => writes.insert(SessionMessageEntity, batch));
}

/** The role of a deleted message: its row stays, so that the others keep their numbers. */
const DELETED = 'deleted';

/** Deletes the content of a message; false when the session has no such message. */
export async function blankMessage(
  entities: TenantEntityManager,
  { sessionId, messageId }: { readonly sessionId: string; readonly messageId: string },
): Promise<boolean> {
  const [row] = await entities.rows(SessionMessageEntity, { sessionId, id: messageId }, { limit: 1 });
  if (row === undefined || row.role === DELETED) return false;
  const { role, tool_calls, tool_call_id } = JSON.parse(row.message) as ChatMessage;
  const isOfTool = tool_calls !== undefined || tool_call_id !== undefined;
  const blank = {
    role,
    content: '[deleted]',
    ...(tool_call_id && { tool_call_id }),
    ...(tool_calls && { tool_calls: tool_calls.map(blankCall) }),
  };
  const message = isOfTool ? JSON.stringify(blank) : '{}';
  const change = {
    message,
    bytes: Buffer.byteLength(message),
    tokenCount: 0,
    ...(!isOfTool && { role: DELETED }),
  };
  return (await entities.update(SessionMessageEntity, { sessionId, seq: row.seq }, change)) > 0;
}

function blankCall(call: ToolCall): ToolCall {
  return { ...call, function: { name: call.function?.name ?? '', arguments: '{}' } };
}

/** Which messages of a session: the newest `limit` below `before` (a `seq`; default: all). */
export interface MessagePage {
  readonly limit: number;
  readonly before?: number | undefined;
}

function ofPage(sessionId: string, { before }: MessagePage) {
  return { sessionId, role: { $ne: DELETED }, ...(before !== undefined && { seq: { $lt: before } }) };
}

/** The messages of a page, newest first. */
export function findMessages(
  entities: TenantEntityManager,
  sessionId: string,
  page: MessagePage,
): Promise<SessionMessageRow[]> {
  const query = { orderBy: { seq: 'desc' }, limit: page.limit } as const;
  return entities.rows(SessionMessageEntity, ofPage(sessionId, page), query);
}

/** The messages of a page without their text, newest first. */
export function findOutlines(
  entities: TenantEntityManager,
  sessionId: string,
  page: MessagePage,
): Promise<HistoryOutline[]> {
  const fields = ['id', 'seq', 'turn', 'role', 'tokenCount', 'bytes'] as const;
  const query = { orderBy: { seq: 'desc' }, limit: page.limit, fields } as const;
  return entities.rows(SessionMessageEntity, ofPage(sessionId, page), query);
}

/**
 * Messages that `eachMessage` reads at one time, and their bytes; a single one may have more. Its reader may wait for a
 * client for a long time, and many may do so at one time.
 */
const PAGE = 50;
const PAGE_BYTES = 1024 * 1024;

/** All messages of a session, oldest first. */
export async function* eachMessage(
  entities: Pick<TenantEntityManager, 'rows'>,
  sessionId: string,
): AsyncGenerator<SessionMessageRow> {
  for (let after = 0; ; ) {
    const where = { sessionId, role: { $ne: DELETED }, seq: { $gt: after } };
    const query = { orderBy: { seq: 'asc' }, limit: PAGE } as const;
    const outlines = await entities.rows(SessionMessageEntity, where, { ...query, fields: ['bytes'] });
    if (outlines.length === 0) return;
    const rows = await entities.rows(SessionMessageEntity, where, {
      ...query,
      limit: fitting(outlines, PAGE_BYTES),
    });
    yield* rows;
    after = rows.at(-1)?.seq ?? after;
  }
}

/** How many messages a session has. */
export function countMessages(entities: TenantEntityManager, sessionId: string): Promise<number> {
  return entities.count(SessionMessageEntity, { sessionId, role: { $ne: DELETED } });
}
