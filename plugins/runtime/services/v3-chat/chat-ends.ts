import { type Clock, KernelErrors, type RowWrite, type TenantEntityManager } from 'agent-gateway';
import type { Checkpoint, Checkpoints, TurnEnd } from '../../../agent-engine/contract.ts';
import {
  type ChatChange,
  type ChatRow,
  chatMoveIf,
  findChat,
  moveChat,
  unfinishedChats,
} from '../../store/chats.ts';
import { answeredChat, brokenChat, recordedEnd, resultOf } from './chat-record.ts';

/** How often a change is retried where the chat changes meanwhile. */
const ATTEMPTS = 5;

/** The dependencies of `createChatEnds`. */
interface EndParts {
  readonly checkpoints: Pick<Checkpoints, 'find' | 'take'>;
  readonly clock: Clock;
}

/** How chats end, and what becomes of their pauses. */
export type ChatEnds = ReturnType<typeof createChatEnds>;

/** Makes the functions. */
export function createChatEnds({ checkpoints, clock }: EndParts) {
  const placeOf = ({ conversationId, botId }: ChatRow) => ({ sessionId: conversationId, agent: botId });

  /**
   * The checkpoint at which a chat waits, or from which it was continued; undefined where it has none, or where it was
   * taken.
   */
  async function pauseOf(entities: TenantEntityManager, row: ChatRow): Promise<Checkpoint | undefined> {
    const { pause } = resultOf(row);
    if (pause === undefined) return undefined;
    const found = await checkpoints.find(entities, placeOf(row));
    return found?.checkpoint.id === pause ? found.checkpoint : undefined;
  }

  return {
    pauseOf,

    /** What becomes of a chat whose turn broke. */
    async broken(entities: TenantEntityManager, row: ChatRow, reason: unknown): Promise<ChatChange> {
      const isOpen = (await pauseOf(entities, row)) !== undefined;
      return brokenChat(row, reason, { isOpen, now: clock.now() });
    },

    /** Changes a chat. Returns it as it is then, also where another process has changed it before. */
    async settle(entities: TenantEntityManager, row: ChatRow, change: ChatChange): Promise<ChatRow> {
      let [now, next] = [row, change];
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        if (await moveChat(entities, now, next)) return { ...now, ...next };
        const found = await findChat(entities, row.id);
        // Without its row the conversation was deleted.
        if (found === undefined) return { ...row, ...change, status: 'canceled' };
        // The commit of the turn succeeded although it was reported as failed.
        const end = recordedEnd(found, clock.now());
        if (end === undefined) return found;
        [now, next] = [found, end];
      }
      throw KernelErrors.internal('The chat changes too fast');
    },

    /** Discards the pause of a chat, if it is still open. */
    async discard(entities: TenantEntityManager, row: ChatRow): Promise<void> {
      const { pause } = resultOf(row);
      if (pause === undefined) return;
      await entities.writeTogether([checkpoints.take({ ...placeOf(row), checkpointId: pause })]);
    },
  };
}

/**
 * Moves on the chat whose open pause a turn outside of the v3 API has answered, for the commit of that turn: the chat
 * waits, or was being continued with the same pause by a process that died, or that now finds it answered.
 */
export async function movesOf(
  checkpoints: Pick<Checkpoints, 'find'>,
  entities: TenantEntityManager,
  { sessionId, agent }: { readonly sessionId: string; readonly agent: string },
  end: TurnEnd,
  now: number,
): Promise<readonly RowWrite[]> {
  const open = await checkpoints.find(entities, { sessionId, agent });
  const chats = await unfinishedChats(entities, { conversationId: sessionId, botId: agent });
  return chats
    .filter((row) => open !== undefined && resultOf(row).pause === open.checkpoint.id)
    .map((row) => chatMoveIf(row, answeredChat(row, end, now)));
}
