import { type RowWrite, serviceRef } from 'agent-gateway';
import type { ChatMessage, Usage, UsageSource } from '../../records/contract.ts';
import type { AgentEvent, AgentFinish, ModelParameters } from './agents.ts';
import type { ChatContext } from './conversations.ts';

/** A chat of a plugin's own: what a bot was asked, for instance. */
export interface ChatRun {
  readonly tenantId: string;
  /** Divides sessions, memories and profiles inside the tenant, as `X-Svc-User-Id` does. */
  readonly userId: string;
  /** The identity that owns the session and its usage, as that of a credential would; default: `userId`. */
  readonly identityId?: string;
  /**
   * Goes on with a session; one that is not there yet is made under this name. Absent: a new one. An id has 1 to 128
   * characters of `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`, looks like no credential, and is unique in its tenant: if
   * another system's conversation ids may have other characters, hash them. Logs, usage and durable events carry the
   * id, so it should not identify a person. Any other text is `session.invalid-id`, the session of another owner
   * `session.forbidden`.
   */
  readonly sessionId?: string;
  /** An agent of agents.d, or of the tenant; absent: the default agent, with every tool that the tenant may use. */
  readonly agent?: string;
  /** Alias of the model; absent: the agent's own, or `default`. */
  readonly model?: string;
  /** What is new. History comes from the session. */
  readonly messages: readonly ChatMessage[];
  /** Which part of the gateway asks, for usage reports: the plugin's name, 16 characters at most. */
  readonly source: UsageSource;
  /** `none`: no personality, profile, memories or skills in the prompt. Default `full`. */
  readonly context?: ChatContext;
  /** False stores nothing but the usage. Default true. */
  readonly store?: boolean;
  /** Temperature and the like, for the model. */
  readonly parameters?: ModelParameters;
  /** Ends the chat, wherever it is. */
  readonly signal: AbortSignal;
  /** For logs, receipts and usage; default: a new one. */
  readonly requestId?: string;
  /**
   * More writes for the transaction that keeps the chat, made when the answer is there: with them an answer is noted,
   * or a job for its delivery published, exactly once. If a write does not match what it expects, the chat fails with
   * `session.conflict`, and nothing of it is stored. Not allowed with `store: false`.
   */
  readonly also?: (answer: ChatAnswer) => readonly RowWrite[] | Promise<readonly RowWrite[]>;
}

/** What a chat came to: as the guards let it through, and as it is stored. */
export interface ChatAnswer {
  readonly text: string;
  /** Undefined when nothing is stored. */
  readonly sessionId: string | undefined;
  /** Of all calls of the model. */
  readonly usage: Usage;
  /** The last message of the assistant. */
  readonly message: ChatMessage;
  /** `iteration_limit`: the agent has reached its limit of model calls, or of what a turn may keep. */
  readonly finish: AgentFinish;
  /** Alias of the model that answered. */
  readonly model: string;
}

/** What happens in a chat. The `end` comes when it is durable. */
export type ChatEvent =
  | Exclude<AgentEvent, { readonly type: 'end' }>
  | { readonly type: 'end'; readonly answer: ChatAnswer };

/**
 * A chat that has begun: its first event is there. Dispose it in any case; unless its events were read to the `end`,
 * nothing of it stays.
 */
export interface ChatStream extends AsyncDisposable {
  readonly sessionId: string | undefined;
  /** To be read once. Throws what broke the chat. */
  readonly events: AsyncIterable<ChatEvent>;
}

/**
 * Chats in one call, with all that the routes for chats have: guardrails and guards, personality, memories and skills,
 * the agent's tools with their receipts, history, prices, the tenant's bound on sessions. Both throw `tenant.not-found`
 * (of deleted tenants too), what `AgentTurns.begin` throws, and a `TypeError` for a `source` that is no name. No person
 * can be asked: tools that need an approval are refused.
 */
export interface Chats {
  run(chat: ChatRun): Promise<ChatAnswer>;
  stream(chat: ChatRun): Promise<ChatStream>;
}

/** Chats, for plugins that answer people or systems: bots, webhooks, jobs. */
export const ChatsRef = serviceRef<Chats>('agent-engine.chats');
