import type { Logger } from 'agent-gateway';
import type { Principal } from '../../records/contract.ts';

/** Ids, versions, states, by name; never content. */
export type AuditChanges = Readonly<Record<string, string | number | boolean | null>>;

/** Everything about a piece of work that is not the work itself. */
export interface RunContext {
  readonly principal: Principal;
  /** The session that the work belongs to; undefined for work that is not stored. */
  readonly sessionId?: string | undefined;
  readonly requestId: string;
  /**
   * The kind of task, as the request names it: 1 to 64 of the characters a-z, 0-9 and `-`. Agents that learn group what
   * they learned by it.
   */
  readonly taskClass?: string | undefined;
  /** Ends the work, wherever it is. */
  readonly signal: AbortSignal;
  /** W3C trace context headers of the current span. */
  readonly traceHeaders?: Readonly<Record<string, string>> | undefined;
  readonly log: Logger;
  /**
   * Adds what a tool made or changed, by name, to the audit record of the request that the work belongs to; absent
   * where there is none. Repeated calls add up.
   */
  readonly audit?: ((changes: AuditChanges) => void) | undefined;
  /**
   * Names this very piece of work, so that doing it again (a workflow step after a crash) does not repeat its tools:
   * receipts of one idempotency id exist once.
   */
  readonly idempotencyId?: string | undefined;
}
