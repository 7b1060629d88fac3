import { type Database, type DurableEvents, type Ids, isUniqueViolation, storableText } from 'agent-gateway';
import {
  type ChatMessage,
  estimateMessageTokens,
  type Metering,
  type Owner,
  type PricedUse,
  type Principal,
  SessionCreated,
  SessionErrors,
  type TurnOutcome,
  turnFinishedWrites,
} from '../../contract.ts';
import {
  messageWrites,
  ROLE_LENGTH,
  SESSION_LENGTHS,
  type SessionMessageRow,
  type SessionRow,
  sessionWrite,
} from '../../store/sessions.ts';

/** What turns are written with. */
export interface CommitParts {
  readonly database: Pick<Database, 'forTenant'>;
  readonly metering: Pick<Metering, 'write'>;
  readonly durableEvents: Pick<DurableEvents, 'hasSubscribers' | 'writes'>;
  readonly ids: Pick<Ids, 'uuid'>;
}

/** A turn that is about to be written. */
interface FinishedTurn {
  readonly sessionId: string;
  readonly principal: Principal;
  readonly owner: Owner;
  /** As it was when the turn began; undefined for a new session. */
  readonly session: SessionRow | undefined;
  readonly outcome: TurnOutcome;
  readonly at: Date;
}

/**
 * Writes session, messages, usage, the writes that the outcome adds and the durable events for subscribers, in one
 * transaction. Throws `session.conflict` if another turn was written since this one began.
 */
export async function commitTurn(
  { database, metering, durableEvents, ids }: CommitParts,
  turn: FinishedTurn,
): Promise<void> {
  const { sessionId, principal, session, outcome } = turn;
  const messages = messageRows(turn, ids);
  const together = [
    sessionWrite(session, sessionRow(turn, messages)),
    ...messageWrites(messages),
    metering.write({ principal, sessionId, source: outcome.source }, outcome.uses),
    ...(session === undefined ? durableEvents.writes(SessionCreated, { session_id: sessionId }) : []),
    ...turnFinishedWrites(durableEvents, { sessionId, ...outcome }),
    ...(outcome.also ?? []),
  ];
  let isWritten: boolean;
  try {
    isWritten = await database.forTenant(principal.tenantId).writeTogether(together, { shareAs: sessionId });
  } catch (cause) {
    throw isUniqueViolation(cause) ? SessionErrors.conflict(undefined, { cause }) : cause;
  }
  if (!isWritten) throw SessionErrors.conflict();
}

const NO_SESSION = { turns: 0, messageCount: 0, messageBytes: 0, inputTokens: 0, outputTokens: 0 };

function sessionRow(turn: FinishedTurn, messages: readonly SessionMessageRow[]): SessionRow {
  const { sessionId, principal, owner, outcome, at } = turn;
  const before = turn.session ?? NO_SESSION;
  return {
    tenantId: principal.tenantId,
    id: sessionId,
    identityId: turn.session?.identityId ?? owner.identityId,
    userId: turn.session?.userId ?? owner.userId,
    model: storableText(outcome.model, SESSION_LENGTHS.model),
    turns: before.turns + 1,
    messageCount: before.messageCount + messages.length,
    messageBytes: messages.reduce((sum, { bytes }) => sum + bytes, before.messageBytes),
    inputTokens: outcome.uses.reduce((sum, use) => sum + use.inputTokens, before.inputTokens),
    outputTokens: outcome.uses.reduce((sum, use) => sum + use.outputTokens, before.outputTokens),
    createdAt: turn.session?.createdAt ?? at,
    updatedAt: at,
  };
}

function messageRows(turn: FinishedTurn, ids: Pick<Ids, 'uuid'>): readonly SessionMessageRow[] {
  const { sessionId, principal, session, outcome, at } = turn;
  const first = (session?.messageCount ?? 0) + 1;
  const tokens = messageTokens(outcome.messages, outcome.uses);
  return outcome.messages.map((message: ChatMessage, index) => {
    const text = JSON.stringify(message);
    return {
      tenantId: principal.tenantId,
      sessionId,
      seq: first + index,
      id: ids.uuid(),
      turn: (session?.turns ?? 0) + 1,
      role: storableText(message.role, ROLE_LENGTH),
      message: text,
      tokenCount: tokens[index]!,
      bytes: Buffer.byteLength(text),
      createdAt: at,
    };
  });
}

/**
 * The tokens of each message: as the provider counted the answer of a turn with one model call, else estimated. Pure.
 */
export function messageTokens(
  messages: readonly ChatMessage[],
  uses: readonly Pick<PricedUse, 'outputTokens'>[],
): readonly number[] {
  const [use] = uses;
  return messages.map((message, index) => {
    const isAnswer = index === messages.length - 1 && message.role === 'assistant';
    return isAnswer && use !== undefined && uses.length === 1
      ? use.outputTokens
      : estimateMessageTokens(message);
  });
}
