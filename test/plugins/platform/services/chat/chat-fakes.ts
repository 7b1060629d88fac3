import pino from 'pino';
import type {
  ChatCall,
  ChatMessage,
  Guard,
  ModelInfo,
  ModelUse,
  StreamRedactor,
} from '../../../../../plugins/agent-engine/contract.ts';
import { NO_GUARDS } from '../../../../../plugins/agent-engine/services/guard/chat/chat-guards.ts';
import { inspectInput } from '../../../../../plugins/agent-engine/services/guard/create-guard.ts';
import type { ConversationParts } from '../../../../../plugins/agent-engine/services/turns/conversations.ts';
import type { EventSink } from '../../../../../plugins/platform/services/chat/chat-call.ts';
import type { Turn, TurnOutcome, Turns } from '../../../../../plugins/records/contract.ts';
import { fakeDurableEvents } from '../../../../../testing/fakes/fake-durable-events.ts';

/** A guard for which `SECRET` is a credential, `ATTACK` an attack and `UNSAFE` an unsafe answer. */
export const testGuard: Guard = {
  checkInput: (text) => (text.includes('ATTACK') ? { rule: 'test', reason: 'an attack' } : undefined),
  inspect: (messages) => inspectInput(testGuard.checkInput, messages),
  checkOutput: (secretPrompt) => {
    let seen = '';
    const find = () => {
      if (seen.includes('UNSAFE')) return { rule: 'test', reason: 'unsafe text' };
      if (secretPrompt !== undefined && seen.includes(secretPrompt))
        return { rule: 'leak', reason: 'a leak' };
      return undefined;
    };
    return {
      push(text) {
        seen += text;
        return find();
      },
      end: find,
    };
  },
  redact: (text) => text.replaceAll('SECRET', '[R]'),
  redactJsonText: (text) => text.replaceAll('SECRET', '[R]'),
  redactStream: () => testRedactor(),
};

/** Holds back what can still become `SECRET`. */
function testRedactor(): StreamRedactor {
  let held = '';
  return {
    push(text) {
      const all = (held + text).replaceAll('SECRET', '[R]');
      let keep = Math.min(5, all.length);
      while (keep > 0 && !'SECRET'.startsWith(all.slice(all.length - keep))) keep -= 1;
      held = all.slice(all.length - keep);
      return all.slice(0, all.length - keep);
    },
    end: () => held,
  };
}

/** Turns that keep what was committed, and a history. */
export function fakeTurns(history: readonly ChatMessage[] = []) {
  const committed: TurnOutcome[] = [];
  const abort = new AbortController();
  const state = { open: 0, begun: 0, committed, abort };
  const turns: Turns = {
    async begin({ sessionId, signal }) {
      state.open += 1;
      state.begun += 1;
      const turn: Turn = {
        sessionId: sessionId ?? 'new-session',
        isNew: history.length === 0,
        signal: AbortSignal.any([signal, abort.signal]),
        history: async () => history,
        async commit(outcome) {
          committed.push(outcome);
        },
        async [Symbol.asyncDispose]() {
          state.open -= 1;
        },
      };
      return turn;
    },
    history: async () => history,
    abort: async () => false,
  };
  return { turns, state };
}

/** What conversations need, faked; `recorded` are the uses of what was not stored. */
export function conversationParts(turns: Turns, preamble = '', secret?: string) {
  const recorded: ModelUse[] = [];
  const parts: ConversationParts = {
    turns,
    guard: testGuard,
    openGuards: () => NO_GUARDS,
    preambles: { of: () => ({ text: preamble, secret }) },
    metering: testMetering(recorded),
    durableEvents: fakeDurableEvents(),
    database: { forTenant: () => ({}) as never },
    budget: { preambleTokens: 1000, historyTokens: 1000 },
  };
  return { parts, recorded };
}

/** Metering that counts what the provider says, else 1 and 2 tokens. */
export function testMetering(recorded: ModelUse[] = []): ConversationParts['metering'] {
  return {
    measure: ({ alias, answeredBy, usage }) => {
      const counted = usage ?? { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, estimated: true };
      const use: ModelUse = {
        model: alias,
        provider: answeredBy.provider,
        providerModel: answeredBy.model,
        inputTokens: counted.prompt_tokens,
        outputTokens: counted.completion_tokens,
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
        isEstimated: usage === undefined,
      };
      return { use, usage: counted };
    },
    total: (uses) => {
      const prompt_tokens = uses.reduce((sum, { inputTokens }) => sum + inputTokens, 0);
      const completion_tokens = uses.reduce((sum, { outputTokens }) => sum + outputTokens, 0);
      return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
    },
    price: (uses) => uses.map((use) => ({ ...use, costUsd: '0' })),
    write() {
      throw new Error('no turn is written here');
    },
    async record(_entities, _owner, uses) {
      recorded.push(...uses);
    },
  };
}

/** A model's info. */
export const INFO: ModelInfo = { id: 'default', provider: 'test', model: 'x', owned_by: 'test', created: 0 };

/** A chat request beside its body. */
export function chatCall(parts: Partial<ChatCall> = {}): ChatCall {
  return {
    principal: { tenantId: 'tenant', identityId: 'identity', userId: 'user' },
    isAdmin: false,
    maxSessions: 10,
    sessionId: undefined,
    context: 'full',
    signal: new AbortController().signal,
    requestId: 'request-1',
    audit: () => {},
    traceHeaders: {},
    log: pino({ enabled: false }),
    ...parts,
  };
}

/** A sink that keeps the data of each event; named events are kept with their names. */
export function collect() {
  const sent: string[] = [];
  const named: { event: string; data: string }[] = [];
  const sink: EventSink = {
    data(text) {
      sent.push(text);
      return undefined;
    },
    send(event) {
      named.push(event);
      return undefined;
    },
  };
  return { sink, sent, named };
}
