import { KernelErrors, type TenantEntityManager } from 'agent-gateway';
import type {
  ChatCall,
  ChatMessage,
  Guard,
  Conversations as Openings,
} from '../../../agent-engine/contract.ts';
import { fitting, type OwnerReader } from '../../../records/contract.ts';
import type { ConversationChange, ConversationRecord, Conversations } from '../conversations.ts';
import type { V3Chats } from './v3-chats.ts';

/** Messages that are searched at most: older ones are listed by `/api/v2`. */
const MAX_SEARCHED = 5_000;

/**
 * A part of the messages of a conversation: those of a list that come after `after` and before `before`, which are ids.
 */
export interface MessagePage {
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** The conversation, and its reader. */
interface Place {
  readonly entities: TenantEntityManager;
  readonly reader: OwnerReader;
  readonly id: string;
}

/** The messages of conversations, in the form of the compatible SDK. */
export type ConversationMessages = ReturnType<typeof createConversationMessages>;

/** Makes the service. */
export function createConversationMessages({
  conversations,
  chats,
  guard,
  openings,
}: {
  readonly conversations: Conversations;
  readonly chats: Pick<V3Chats, 'messages'>;
  readonly guard: Pick<Guard, 'inspect'>;
  readonly openings: Openings;
}) {
  /** A page of the conversation, or the part of it that may be read at one time. */
  async function ofConversation({ entities, reader, id }: Place, page: MessagePage) {
    const { order, limit, before, after } = page;
    const isNewest = order === 'desc' && !before && !after;
    const newest = await conversations.outlines(entities, reader, id, isNewest ? limit + 1 : MAX_SEARCHED);
    const { found, hasMore } = cut(order === 'asc' ? newest.toReversed() : newest, page);
    // Those nearest to the place from which the client goes on.
    const near = isBefore(page) ? found.toReversed() : found;
    const shown = near.slice(0, fitting(near)).sort((one, other) => one.seq - other.seq);
    const [last] = shown.slice(-1);
    if (last === undefined) return { found: [], hasMore };
    const read = { limit: shown.length, before: last.seq + 1 };
    const { messages } = await conversations.messages(entities, reader, id, read);
    return {
      found: order === 'asc' ? messages : messages.toReversed(),
      hasMore: hasMore || shown.length < found.length,
    };
  }

  /**
   * Checks messages before they are stored. Each is new here, also one in front of an answer, which the guard takes for
   * checked before. Rejects with `guard.input-blocked`.
   */
  async function inspect(call: ChatCall, messages: readonly ChatMessage[]): Promise<void> {
    for (const message of messages) await guard.inspect([message], call);
  }

  /** Stores messages, which `inspect` has passed, as a turn without an answer. */
  async function say(call: ChatCall, messages: readonly ChatMessage[]): Promise<void> {
    if (messages.length === 0) return;
    const opening = { messages, store: true, contextLength: undefined, agent: undefined, model: 'default' };
    await using opened = await openings.open(call, opening);
    await opened.keep({ model: 'default', source: 'runtime', messages: [], uses: [] });
  }

  return {
    inspect,
    say,
    get: conversations.get,

    /** Makes a conversation of messages. Where they are refused there is none: its id would be in no answer. */
    async begin(
      call: ChatCall,
      entities: TenantEntityManager,
      content: ConversationChange & { readonly botId: string },
      messages: readonly ChatMessage[],
    ): Promise<ConversationRecord> {
      const { principal, isAdmin, log } = call;
      await inspect(call, messages);
      const made = await conversations.create(entities, principal, content);
      try {
        await say({ ...call, sessionId: made.id }, messages);
        return made;
      } catch (error) {
        await conversations.remove(entities, { ...principal, isAdmin }, made.id).catch((err: unknown) => {
          log.warn({ err, conversation_id: made.id }, 'a conversation without its messages stays behind');
        });
        throw error;
      }
    },

    /**
     * A page of the messages of a conversation, or of one chat in it. Throws `request.invalid` for an id that is not in
     * the list.
     */
    async page(place: Place, page: MessagePage, chatId: string | undefined) {
      if (chatId === undefined) return ofConversation(place, page);
      const { entities, reader, id } = place;
      const said = await chats.messages(entities, reader, { chatId, conversationId: id });
      return cut(page.order === 'asc' ? said : said.reverse(), page);
    },
  };
}

/** With `before` alone, the page is the one directly before it. Pure. */
const isBefore = ({ before, after }: MessagePage): boolean => before !== undefined && after === undefined;

/** Pure. */
function cut<M extends { readonly id: string }>(all: readonly M[], page: MessagePage) {
  const { limit, before, after } = page;
  const from = after ? positionOf(all, after, 'after_id') + 1 : 0;
  const to = before ? positionOf(all, before, 'before_id') : all.length;
  const range = all.slice(from, to);
  const found = isBefore(page) ? range.slice(-limit) : range.slice(0, limit);
  return { found, hasMore: range.length > limit };
}

function positionOf(all: readonly { readonly id: string }[], wanted: string, name: string): number {
  const position = all.findIndex(({ id }) => id === wanted);
  if (position >= 0) return position;
  const errors = [{ pointer: `/body/${name}`, message: 'is no message of this list' }];
  throw KernelErrors.invalidRequest(undefined, { errors });
}
