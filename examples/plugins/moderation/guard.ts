import type { ChatGuard } from 'agent-gateway/contracts/agent-engine';
import { type Action, type Moderator, REFUSAL } from './moderator.ts';

/**
 * Looks at what goes into chats and what comes out of them, with the rules that the tenant has when the chat begins.
 */
export function moderationGuard(
  moderatorOf: (tenantId: string) => Moderator | undefined,
  onAction: (tenantId: string, action: Action) => void,
): ChatGuard {
  return {
    name: 'moderation.rules',
    open({ tenantId }) {
      const moderator = moderatorOf(tenantId);
      if (moderator === undefined) return undefined;
      const note = (action: Action) => onAction(tenantId, action);
      return {
        input(texts) {
          const judged = texts.map(({ text, isNew }) => ({ isNew, ...moderator.judge(text) }));
          // A client that keeps the conversation sends old texts again, which have been counted.
          for (const { action, isNew } of judged) if (action !== undefined && isNew) note(action);
          if (judged.some(({ action }) => action === 'refused')) return { refuse: REFUSAL };
          return { replace: judged.map(({ text }) => text ?? '') };
        },
        output: (part) => (part === 'tool_call' ? undefined : moderator.stream(note)),
      };
    },
  };
}
