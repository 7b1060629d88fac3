import test from 'ava';
import { NO_GUARDS } from '../../../../../plugins/agent-engine/services/guard/chat/chat-guards.ts';
import {
  type ConversationParts,
  createConversations,
} from '../../../../../plugins/agent-engine/services/turns/conversations.ts';

test('what fails behind the opening of guards ends them early, and lets go of the turn', async (t) => {
  const told: unknown[] = [];
  const away = new Error('the database is away');
  const turn = {
    isNew: true,
    signal: new AbortController().signal,
    [Symbol.asyncDispose]: async () => {
      told.push('let go');
    },
  };
  const parts = {
    turns: { begin: async () => turn },
    guard: { inspect: async () => {}, redact: (text: string) => text },
    openGuards: () => ({ ...NO_GUARDS, endEarly: (reason: unknown) => told.push(reason) }),
    preambles: {
      of: () => {
        throw away;
      },
    },
    budget: { preambleTokens: 100, historyTokens: 100 },
  };
  const { open } = createConversations(parts as unknown as ConversationParts);
  const call = { principal: {}, signal: new AbortController().signal };
  const request = { messages: [{ role: 'user', content: 'Hi' }], store: true };
  await t.throwsAsync(open(call as never, request as never), { is: away });
  t.deepEqual(told, [away, 'let go']);
});
