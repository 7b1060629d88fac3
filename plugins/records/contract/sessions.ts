import {
  defineErrors,
  extensionPoint,
  type Page,
  type RowWrite,
  serviceRef,
  type TenantEntityManager,
} from 'agent-gateway';
import type { ChatMessage } from './chat.ts';
import type { TurnStatus } from './durable-events.ts';
import type { PricedUse, UsageSource } from './metering.ts';
import type { OwnerReader } from './ownership.ts';
import type { Principal } from './principal.ts';

/** A conversation that is kept (specification 1, Session). */
export interface SessionRecord {
  /** `[A-Za-z0-9._-]{1,128}`, unique in its tenant. */
  readonly id: string;
  readonly tenantId: string;
  /** The credential's identity that it belongs to. */
  readonly identityId: string;
  readonly userId: string;
  /** The alias that answered last. */
  readonly model: string;
  /** Finished turns. */
  readonly turns: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A message of a session, as it is kept: redacted. */
export interface SessionMessage {
  readonly id: string;
  /** Counts from 1 in its session; deleted ones leave gaps. */
  readonly seq: number;
  readonly message: ChatMessage;
  /** Estimated where the provider did not count it alone. */
  readonly tokenCount: number;
  readonly createdAt: Date;
}

/** Who asks for sessions. */
export type SessionReader = OwnerReader;

/** Stored sessions, by tenant. */
export interface Sessions {
  /** The sessions that the reader may see, the last used first. `q` is a part of id, user or model. */
  list(
    entities: TenantEntityManager,
    reader: SessionReader,
    filter: { readonly userId?: string | undefined; readonly q?: string | undefined },
    page: Page,
  ): Promise<{ readonly sessions: readonly SessionRecord[]; readonly total: number }>;
  /** Throws `session.not-found`, and `session.forbidden` for another user's. */
  get(entities: TenantEntityManager, reader: SessionReader, id: string): Promise<SessionRecord>;
  /** Those of these ids that have neither a session nor a turn in flight that may store one. */
  absent(entities: TenantEntityManager, ids: readonly string[]): Promise<readonly string[]>;
  /**
   * Messages oldest first: the newest `limit` ones before `before` (a `seq`; default: from the end), or as many of them
   * as have 16 MiB together, one at least.
   */
  messages(
    entities: TenantEntityManager,
    sessionId: string,
    page: { readonly limit: number; readonly before?: number | undefined },
  ): Promise<{ readonly messages: readonly SessionMessage[]; readonly total: number }>;
  /** The same messages without their content, as many as `limit` says, newest first. */
  outlines(
    entities: TenantEntityManager,
    sessionId: string,
    page: { readonly limit: number },
  ): Promise<readonly MessageOutline[]>;
  /**
   * Deletes a message and its content. A tool call and its result stay, with the text `[deleted]`: a provider would
   * refuse one without the other. Throws like `get`, `session.message-not-found`, and `session.busy` while a turn is in
   * flight.
   *
   * @param also deletes what else holds the message, in the same transaction
   */
  removeMessage(
    entities: TenantEntityManager,
    reader: SessionReader,
    place: { readonly sessionId: string; readonly messageId: string },
    also?: (inside: TenantEntityManager) => Promise<unknown>,
  ): Promise<void>;
  /**
   * Deletes a session with its messages, in one transaction. Throws like `get`, and `session.busy` while a turn is in
   * flight.
   */
  remove(entities: TenantEntityManager, reader: SessionReader, id: string): Promise<void>;
}

/** A message without its content. */
export interface MessageOutline {
  readonly id: string;
  readonly seq: number;
  /** Of its content as JSON. */
  readonly bytes: number;
}

/** Bytes of messages that are read at one time, as much as a request may bring; a single message may have more. */
export const MAX_READ_BYTES = 16 * 1024 * 1024;

/** How many of these messages, from the first on, may be read at one time: a single one may have any size. Pure. */
export function fitting(outlines: readonly Pick<MessageOutline, 'bytes'>[], most = MAX_READ_BYTES): number {
  let left = most;
  const first = outlines.findIndex(({ bytes }) => {
    left -= bytes;
    return left < 0;
  });
  return first < 0 ? outlines.length : Math.max(1, first);
}

/** What a turn needs to begin. */
export interface TurnRequest {
  readonly principal: Principal;
  readonly isAdmin: boolean;
  /** Absent: a new session. Unknown: created with this name. */
  readonly sessionId?: string | undefined;
  /** Sessions of the tenant that may have a turn in flight at one time, over all replicas. */
  readonly maxSessions: number;
  /** Ends the wait for the session, and the turn. */
  readonly signal: AbortSignal;
}

/** What a finished turn adds. */
export interface TurnOutcome {
  /** The alias that answered. */
  readonly model: string;
  readonly source: UsageSource;
  /** Where one was named. */
  readonly agent?: string | undefined;
  /** Default `completed`. */
  readonly status?: TurnStatus | undefined;
  /** The caller's new messages and the answer, in order, redacted. */
  readonly messages: readonly ChatMessage[];
  readonly uses: readonly PricedUse[];
  /**
   * More writes of the same transaction (a checkpoint). If one does not match the row that it expects, the turn fails
   * with `session.conflict`.
   */
  readonly also?: readonly RowWrite[];
}

/**
 * A turn of one session: while it is open, no replica runs another turn of that session. Dispose it in any case;
 * without `commit` nothing of it is stored.
 */
export interface Turn extends AsyncDisposable {
  readonly sessionId: string;
  /** True while no turn of the session was committed. */
  readonly isNew: boolean;
  /**
   * Aborts with the caller's signal, with `chat.aborted` after `Turns.abort`, and with `session.lost` when the lease on
   * the session was lost.
   */
  readonly signal: AbortSignal;
  /**
   * The newest whole turns that fit into `maxTokens`, oldest message first. It never begins with a `tool` message, or
   * between a call and its result.
   */
  history(maxTokens: number): Promise<readonly ChatMessage[]>;
  /**
   * Writes all of the turn in one transaction, once. Throws `session.conflict` if another turn was committed in
   * between.
   */
  commit(outcome: TurnOutcome): Promise<void>;
}

/** Turns, one at a time for each session, at most `maxSessions` at a time for each tenant. */
export interface Turns {
  /**
   * Waits in line for the session. Throws `session.invalid-id`, `session.forbidden`, `session.limit` (429,
   * `retry-after: 1`), `session.busy` when the wait is too long.
   */
  begin(request: TurnRequest): Promise<Turn>;
  /**
   * The newest earlier messages of a session within so many tokens, for a chat that goes on from it without being
   * stored: it waits for no turn. Empty for a session that is not there. Throws `session.invalid-id`,
   * `session.forbidden`.
   */
  history(
    request: Pick<TurnRequest, 'principal' | 'isAdmin'> & { readonly sessionId: string },
    maxTokens: number,
  ): Promise<readonly ChatMessage[]>;
  /**
   * Aborts the turn in flight of a session, on any replica. True when there was one. Throws `session.forbidden`.
   */
  abort(entities: TenantEntityManager, reader: SessionReader, sessionId: string): Promise<boolean>;
}

/** What can go wrong with sessions and turns (decisions 1.6). */
export const SessionErrors = defineErrors({
  invalidId: { code: 'session.invalid-id', kind: 'invalid', title: 'The session id is malformed' },
  notFound: { code: 'session.not-found', kind: 'not-found', title: 'There is no such session' },
  messageNotFound: {
    code: 'session.message-not-found',
    kind: 'not-found',
    title: 'There is no such message in the session',
  },
  forbidden: { code: 'session.forbidden', kind: 'forbidden', title: 'The session belongs to another user' },
  limit: { code: 'session.limit', kind: 'rate-limited', title: 'Too many sessions are in use' },
  busy: { code: 'session.busy', kind: 'conflict', title: 'The session is in use' },
  conflict: { code: 'session.conflict', kind: 'conflict', title: 'Another turn of the session came between' },
  turnTooLarge: {
    code: 'session.turn-too-large',
    kind: 'too-large',
    title: 'The messages are too large to be kept in a session',
  },
  lost: { code: 'session.lost', kind: 'unavailable', title: 'The hold on the session was lost' },
  aborted: { code: 'chat.aborted', kind: 'conflict', title: 'The chat was aborted' },
});

/** What a plugin keeps of sessions, deleted together with them. */
export interface SessionData {
  /** Removes it, in the transaction that deletes the session. */
  remove(entities: TenantEntityManager, sessionId: string): Promise<unknown>;
}

/** Data of plugins that is deleted with a session. */
export const SessionDataPoint = extensionPoint<SessionData>('records.session-data', { remove: 'function' });

/** Stored sessions. */
export const SessionsRef = serviceRef<Sessions>('records.sessions');
/** Turns of sessions. */
export const TurnsRef = serviceRef<Turns>('records.turns');
