import { type Scope, throttledLogs } from 'agent-gateway';
import { type ChatGuard, type ChatGuarding, ChatGuardsPoint, type GuardedChat } from '../../../contract.ts';
import type { OnGuardEvent } from './opened-guards.ts';

/** Opens the guards of plugins for a chat that begins. Throws `guard.failed`. Not a promise where there are none. */
export type OpenChatGuards = (chat: GuardedChat) => ChatGuarding | Promise<ChatGuarding>;

/** No guards: everything passes as it is. */
export const NO_GUARDS: ChatGuarding = {
  input: async (messages) => messages,
  toolResult: async (text) => text,
  stream: (chunks) => chunks,
  completion: async (completion) => completion,
  endEarly: () => {},
};

/** The guards that plugins contribute; what they do is counted and logged, without the text. */
export function openChatGuards(
  scope: Pick<Scope<unknown>, 'contributions' | 'log' | 'metric' | 'services'>,
): OpenChatGuards {
  const { log } = scope;
  const verdicts = scope.metric.counter({
    name: 'svc_chat_guard_verdicts_total',
    help: 'What the guards of plugins did to chats, where they did not let a text pass as it was.',
    labels: ['guard', 'direction', 'verdict'],
  });
  const logFailure = throttledLogs<unknown>(scope.services.clock, (guard, err, count) =>
    log.warn({ err, guard, count }, 'a guard of chats failed'),
  );
  const onEvent: OnGuardEvent = (guard, direction, event, cause) => {
    verdicts.inc({ guard, direction, verdict: event });
    if (event === 'failed') logFailure(guard, cause);
    else if (event === 'refused') log.warn({ guard, direction }, 'a guard of a plugin refused a text');
  };
  const guards = scope.contributions(ChatGuardsPoint);
  /** What guards need is loaded with the first of them. */
  async function opened(contributed: readonly ChatGuard[], chat: GuardedChat): Promise<ChatGuarding> {
    const { guardChat } = await import('./guard-chat.ts');
    return (await guardChat(contributed, chat, onEvent)) ?? NO_GUARDS;
  }
  return (chat) => {
    const contributed = guards();
    return contributed.length === 0 ? NO_GUARDS : opened(contributed, chat);
  };
}
