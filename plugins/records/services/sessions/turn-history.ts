import type { TenantEntityManager } from 'agent-gateway';
import { type ChatMessage, MAX_READ_BYTES } from '../../contract.ts';
import {
  findMessages,
  findOutlines,
  type HistoryOutline,
  type SessionMessageRow,
  type SessionRow,
} from '../../store/sessions.ts';

/** Most messages that are read for a turn. */
const MAX_MESSAGES = 1_000;
/** Messages that are read at one time; most sessions have fewer. */
const PAGE = 100;

/** What is known of a session before its messages are read. */
type HistorySource = Pick<SessionRow, 'id' | 'messageCount' | 'messageBytes'>;

/**
 * The newest whole turns of a session within a budget of tokens, oldest message first. One query for each hundred
 * messages; of a session so large that its newest messages could be too much to read, they are chosen before.
 *
 * @param entities makes an entity manager of the tenant
 */
export async function readHistory(
  entities: () => TenantEntityManager,
  session: HistorySource,
  maxTokens: number,
): Promise<readonly ChatMessage[]> {
  const isLarge = session.messageBytes > MAX_READ_BYTES;
  const limit = isLarge ? await chooseFirst(entities(), session, maxTokens) : session.messageCount;
  const { rows: newest, isAll } = await readNewest(
    entities(),
    session.id,
    Math.min(limit, MAX_MESSAGES),
    maxTokens,
  );
  const isComplete = isAll || newest.length >= session.messageCount || isLarge;
  const from = selectHistory(newest, isComplete, { tokens: maxTokens, bytes: MAX_READ_BYTES });
  if (from === undefined) return [];
  const chosen = newest.filter(({ seq }) => seq >= from);
  return chosen.reverse().map(({ message }) => JSON.parse(message));
}

/** How many of the newest messages are history, without reading their text. */
async function chooseFirst(
  entities: TenantEntityManager,
  { id, messageCount }: HistorySource,
  maxTokens: number,
): Promise<number> {
  const outlines = await findOutlines(entities, id, { limit: MAX_MESSAGES });
  // Deleted messages are counted, and not read.
  const isComplete = outlines.length < MAX_MESSAGES || outlines.length >= messageCount;
  const from = selectHistory(outlines, isComplete, { tokens: maxTokens, bytes: MAX_READ_BYTES });
  return outlines.findIndex(({ seq }) => seq === from) + 1;
}

/** The newest messages, newest first: `most` of them, or as many as are more than the budget. */
async function readNewest(
  entities: TenantEntityManager,
  sessionId: string,
  most: number,
  maxTokens: number,
): Promise<{ readonly rows: readonly SessionMessageRow[]; readonly isAll: boolean }> {
  const rows: SessionMessageRow[] = [];
  let tokens = 0;
  while (rows.length < most && tokens <= maxTokens) {
    const limit = Math.min(PAGE, most - rows.length);
    const page = await findMessages(entities, sessionId, { limit, before: rows.at(-1)?.seq });
    rows.push(...page);
    if (page.length < limit) return { rows, isAll: true };
    tokens += page.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
  }
  return { rows, isAll: false };
}

/** How much history may be read. */
interface HistoryBudget {
  readonly tokens: number;
  readonly bytes: number;
}

/**
 * The `seq` from which on messages are history: the newest whole turns within the budget. A turn that begins with
 * results of tools belongs to the one before it, which has the calls. Undefined where nothing fits. Pure.
 *
 * @param outlines newest first
 * @param isComplete false where older messages exist that are not among them: the oldest turn may be cut off then
 */
export function selectHistory(
  outlines: readonly Omit<HistoryOutline, 'id'>[],
  isComplete: boolean,
  budget: HistoryBudget,
): number | undefined {
  let from: number | undefined;
  let { tokens, bytes } = budget;
  for (const [index, { seq, turn, role, tokenCount, bytes: size }] of outlines.entries()) {
    tokens -= tokenCount;
    bytes -= size;
    if (tokens < 0 || bytes < 0) break;
    const older = outlines[index + 1];
    const isFirst = older === undefined ? isComplete : older.turn !== turn;
    if (isFirst && role !== 'tool') from = seq;
  }
  return from;
}
