import { type Call, type Logger, type RowWrite, serviceRef, type TenantRecord, Type } from 'agent-gateway';
import {
  type ChatMessage,
  isTenantAdmin,
  type ModelUse,
  type Principal,
  principalOf,
  type TurnStatus,
  type UsageSource,
} from '../../records/contract.ts';
import type { ChatGuarding } from './chat-guards.ts';
import { TASK_CLASS } from './experience.ts';
import type { AuditChanges } from './run-context.ts';

/** Everything about a chat request that is not in its body. */
export interface ChatCall {
  readonly principal: Principal;
  /** May use every session of the tenant. */
  readonly isAdmin: boolean;
  /** The tenant's bound on sessions with a turn in flight. */
  readonly maxSessions: number;
  /** The session that the caller names. */
  readonly sessionId: string | undefined;
  /** `none`: the model gets no personality, profile, memories or list of skills. */
  readonly context: ChatContext;
  readonly signal: AbortSignal;
  readonly requestId: string;
  /** The kind of task, as the request names it. */
  readonly taskClass?: string | undefined;
  readonly traceHeaders: Readonly<Record<string, string>>;
  /** Adds what tools made or changed to the audit record of the request. */
  readonly audit: (changes: AuditChanges) => void;
  readonly log: Logger;
}

/** What the gateway adds to a prompt. */
export type ChatContext = TenantRecord['chatContext'];

/** What a request says of its chat in headers, in schemas of routes; `chatCallOf` takes them. */
export const CHAT_HEADERS = {
  'x-svc-context': Type.Optional(
    Type.Enum(['full', 'none'], {
      description: '`none`: no personality, profile, memories or skills in the prompt',
    }),
  ),
  'x-svc-task-class': Type.Optional(
    Type.String({
      pattern: TASK_CLASS,
      patternErrorMessage: 'must have 1 to 64 of the characters a-z 0-9 -',
      description: 'The kind of task, for agents that learn; absent: found by its words',
    }),
  ),
};

/** `CHAT_HEADERS`, as they came. */
interface ChatHeaders {
  readonly 'x-svc-context'?: ChatContext | undefined;
  readonly 'x-svc-task-class'?: string | undefined;
}

/** The part of a request that is not in its body. */
export function chatCallOf(
  call: Call,
  sessionId: string | undefined,
  { 'x-svc-context': context = 'full', 'x-svc-task-class': taskClass }: ChatHeaders = {},
): ChatCall {
  let changes: AuditChanges = {};
  return {
    principal: principalOf(call),
    isAdmin: isTenantAdmin(call.identity),
    maxSessions: call.tenant.maxSessions,
    sessionId,
    context,
    taskClass,
    signal: call.signal,
    requestId: call.requestId,
    traceHeaders: call.traceHeaders(),
    audit: (more) => {
      changes = { ...changes, ...more };
      call.audit({ changes });
    },
    log: call.log,
  };
}

/** What a request says that matters to its session. */
export interface ConversationRequest {
  readonly messages: readonly ChatMessage[];
  /** False stores nothing. */
  readonly store: boolean;
  /** For the guards: the outermost agent, where one is named, and the alias of the model that is asked. */
  readonly agent: string | undefined;
  readonly model: string;
  /** Tokens that fit into the model, where that is known. */
  readonly contextLength: number | undefined;
}

/** Characters of text that one turn may keep. */
export const MAX_KEPT = 8 * 1024 * 1024;

/** What a finished answer adds. */
export interface KeptAnswer {
  readonly model: string;
  readonly source: UsageSource;
  /** Default `completed`. */
  readonly status?: TurnStatus;
  /** Redacted. */
  readonly messages: readonly ChatMessage[];
  readonly uses: readonly ModelUse[];
  /** More writes of the same transaction. */
  readonly also?: readonly RowWrite[];
}

/** A request in its session, or in none. Dispose it in any case; without `keep` nothing of it stays. */
export interface Conversation extends AsyncDisposable {
  /** Undefined when nothing is stored. */
  readonly sessionId: string | undefined;
  /** Aborts when the caller is gone, the chat was aborted, or the session was lost. */
  readonly signal: AbortSignal;
  readonly preamble: string;
  /** The tenant's personality file, which an answer must not give away. */
  readonly secretPrompt: string | undefined;
  /** What the request says, as the guards let it through: what a model may see, and what is stored. */
  readonly messages: readonly ChatMessage[];
  /** The guards of plugins that the conversation began with, for what comes out of it. */
  readonly guards: ChatGuarding;
  /** What was said in the session before, oldest first. */
  readonly history: readonly ChatMessage[];
  /** Writes the turn, its counters and its usage in one transaction. When it has resolved, the turn is durable. */
  keep(answer: KeptAnswer): Promise<void>;
  /**
   * The error to throw for a failure: the reason why the conversation ended, if it ended. It is noted, since
   * `TurnFailed` names it where nothing was kept.
   */
  failure(error: unknown): unknown;
}

/** Opens conversations: takes the session's turn, and collects what the model has to know. */
export interface Conversations {
  /**
   * Throws what `Turns.begin` throws, `session.turn-too-large`, and what the guardrails and guards refuse the messages
   * with.
   */
  open(call: ChatCall, request: ConversationRequest): Promise<Conversation>;
}

/** Conversations, for plugins that ask models or agents for a caller. */
export const ConversationsRef = serviceRef<Conversations>('agent-engine.conversations');

const INSTRUCTIONS: ReadonlySet<string> = new Set(['system', 'developer']);

/** True for a message that instructs the model instead of talking to it. */
function isInstruction({ role }: ChatMessage): boolean {
  return INSTRUCTIONS.has(role);
}

/** The result of a call in history that was never answered. */
const NO_RESULT = 'Error: This call has no result, since the conversation went on without it.';

/**
 * History in which each call of a tool has a result, in it or at the beginning of what follows. Providers refuse
 * conversations with an open call, so a client that goes on without the result of its tool could not use its session
 * any more. Pure.
 */
function withResults(history: readonly ChatMessage[], next: readonly ChatMessage[]): readonly ChatMessage[] {
  const whole: ChatMessage[] = [];
  const open = new Set<string>();
  const closeCalls = () => {
    for (const id of open) whole.push({ role: 'tool', tool_call_id: id, content: NO_RESULT });
    open.clear();
  };
  for (const message of history) {
    if (message.role === 'tool') open.delete(message.tool_call_id ?? '');
    else closeCalls();
    whole.push(message);
    for (const { id } of message.tool_calls ?? []) open.add(id);
  }
  for (const { role, tool_call_id } of next) {
    if (role !== 'tool') break;
    open.delete(tool_call_id ?? '');
  }
  closeCalls();
  return whole;
}

/**
 * What the model is to see: the stored history, then the new messages. Instructions hold for the turn that they came
 * with and, until others come, for the turns after it; history never repeats older ones. Calls of tools that were never
 * answered get a result. Pure.
 */
export function composeConversation(
  history: readonly ChatMessage[],
  messages: readonly ChatMessage[],
): readonly ChatMessage[] {
  if (history.length === 0) return messages;
  const first = messages.findIndex((message) => !isInstruction(message));
  const leading = first < 0 ? messages.length : first;
  const following = messages.slice(leading);
  const said = withResults(
    history.filter((message) => !isInstruction(message)),
    following,
  );
  if (messages.some(isInstruction)) return [...messages.slice(0, leading), ...said, ...following];
  const instruction = history.findLast(isInstruction);
  return instruction === undefined ? [...said, ...messages] : [instruction, ...said, ...messages];
}

/**
 * Puts a preamble in front. It is joined with a leading instruction, since some servers take only one system message,
 * as the first of all messages. Pure.
 */
export function withPreamble(preamble: string, messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (preamble === '') return messages;
  const [first, ...rest] = messages;
  if (first === undefined || !isInstruction(first))
    return [{ role: 'system', content: preamble }, ...messages];
  if (Array.isArray(first.content)) {
    return [{ ...first, content: [{ type: 'text', text: `${preamble}\n\n` }, ...first.content] }, ...rest];
  }
  return [{ ...first, content: `${preamble}\n\n${first.content ?? ''}` }, ...rest];
}

/** What a client says in this request: the messages behind the last answer. Pure. */
export function newMessages(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
}

/** The text of a message, its parts joined; media are left out. */
export function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map(({ text }) => text ?? '').join('\n');
}
