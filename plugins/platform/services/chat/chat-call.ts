import type { Logger } from 'agent-gateway';
import type { AuditChanges, Principal } from '../../../agent-engine/contract.ts';

/** Everything about a chat request that is not in its body. */
export interface ChatCall {
  readonly principal: Principal;
  /** May use every session of the tenant. */
  readonly isAdmin: boolean;
  /** The tenant's bound on sessions with a turn in flight. */
  readonly maxSessions: number;
  /** `X-Svc-Session-Id`. */
  readonly sessionId: string | undefined;
  readonly signal: AbortSignal;
  readonly requestId: string;
  readonly traceHeaders: Readonly<Record<string, string>>;
  /** Adds what tools made or changed to the audit record of the request. */
  readonly audit: (changes: AuditChanges) => void;
  readonly log: Logger;
}

/** An answer and the session that it belongs to; without one nothing was stored. */
export interface Answered<T> {
  readonly sessionId: string | undefined;
  readonly answer: T;
}

/** Where a streamed answer goes. A promise means: wait, the reader is slower. */
export interface EventSink {
  /** Sends the text of one event. */
  data(text: string): Promise<void> | undefined;
  /** Sends a named event. */
  send(event: { readonly event: string; readonly data: string }): Promise<void> | undefined;
}

/** Sends a streamed answer; has to be called, once. Throws what broke the stream. */
export type SendAnswer = (sink: EventSink) => Promise<void>;
