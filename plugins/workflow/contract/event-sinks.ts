import { extensionPoint } from 'agent-gateway';
import type { RunEventRecord } from './runs.ts';

/** An event of a run, with what a receiver needs to know of the run. Redacted. */
export interface DeliveredEvent extends RunEventRecord {
  readonly tenant_id: string;
  readonly run_id: string;
  readonly definition_id: string;
}

/**
 * Receives the events of runs durably (webhooks): an event that was committed is delivered at least once, the events of one run in order.
 * Events are named `workflow.` and their type outside: `workflow.run.completed`.
 */
export interface EventSink {
  /** `[a-z][a-z0-9-]{0,63}`, once in the deployment, and the same after every restart: what waits for the sink is kept by it. */
  readonly name: string;
  /** Whether somebody of the tenant wants any events now. Asked at each commit: it answers from memory. */
  wants(tenantId: string): boolean;
  /** Takes events over. Rejects when it cannot; they come again, later and later, for three days at most. */
  deliver(events: readonly DeliveredEvent[], signal: AbortSignal): Promise<void>;
}

/** Receivers of the events of all runs. */
export const EventSinksPoint = extensionPoint<EventSink>('workflow.event-sinks');
