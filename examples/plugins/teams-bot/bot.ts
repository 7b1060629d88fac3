import { createHash } from 'node:crypto';
import { defineJob, type Egress, type JobContext, type Jobs, type ResourceView, writes } from 'agent-gateway';
import type { Chats } from 'agent-gateway/contracts/agent-engine';
import Type from 'typebox';
import type { Hook } from './hooks.ts';
import { Message } from './store.ts';

/** Which message a job is about. */
const MessageKey = Type.Object({ hook: Type.String(), id: Type.String() });
type Key = { readonly hook: string; readonly id: string };

/** Asks the agent. Published with the message. */
export const Answer = defineJob('teams-bot.answer', MessageKey, { timeout: 300_000 });
/** Sends the answer to the hook's callback. Published with the answer. */
export const Deliver = defineJob('teams-bot.deliver', MessageKey, {
  backoff: { first: 1_000, most: 600_000 },
});

/** What the bot works with. */
export interface BotParts {
  readonly chats: Chats;
  readonly hooks: ResourceView<Hook>;
  readonly jobs: Jobs;
  readonly egress: Egress;
}

/**
 * The two steps of an answer. Either may be repeated when a process dies: what is done already is known by the
 * message's state.
 */
export function createBot({ chats, hooks, jobs, egress }: BotParts) {
  const hookOf = ({ hook }: Key) => {
    const found = hooks.get(hook);
    if (found === undefined) throw new Error(`there is no TeamsHook ${hook} in agents.d any more`);
    return found;
  };
  return {
    async answer(key: Key, { entities, signal }: JobContext): Promise<void> {
      const message = await entities().findOne(Message, { ...key, state: 'received' });
      if (message === null) return;
      const { agent } = hookOf(key);
      await chats.run({
        tenantId: message.tenantId,
        userId: message.userId,
        sessionId: sessionOf(message),
        ...(agent === undefined ? {} : { agent }),
        source: 'teams-bot',
        messages: [{ role: 'user', content: message.text }],
        signal,
        // With the chat, or not at all: no answer is forgotten, and no message is answered twice.
        also: ({ text }) => [
          writes.update(Message, { ...key, state: 'received' }, { state: 'answered', text }, { expect: 1 }),
          jobs.write(Deliver, key),
        ],
      });
    },
    async deliver(key: Key, { entities, signal }: JobContext): Promise<void> {
      const message = await entities().findOne(Message, { ...key, state: 'answered' });
      if (message === null) return;
      const { status, body } = await egress.request(message.tenantId, {
        method: 'POST',
        url: hookOf(key).callback_url,
        // At least once: the key tells the other side what it has seen.
        headers: { 'content-type': 'application/json', 'idempotency-key': key.id },
        body: JSON.stringify({ reply_to: key.id, conversation: message.conversation, text: message.text }),
        signal,
      });
      body.destroy();
      if (status >= 300) throw new Error(`the callback answered ${status}`);
      await entities().update(Message, { ...key }, { state: 'delivered', text: '' });
    },
  };
}

/** A conversation of a user is a session; hashed, since ids of Teams are longer than those of sessions. */
function sessionOf({
  hook,
  conversation,
  userId,
}: {
  hook: string;
  conversation: string;
  userId: string;
}): string {
  return `teams-${createHash('sha256')
    .update(JSON.stringify([hook, conversation, userId]))
    .digest('hex')
    .slice(0, 32)}`;
}
