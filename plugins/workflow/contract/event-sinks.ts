import { extensionPoint } from 'agent-gateway';
import type { RunEventRecord } from './runs.ts';

/** An event of a run, with what a receiver needs to know of the run. Redacted. */
export interface DeliveredEvent extends RunEventRecord {
  readonly tenant_id: string;
  readonly run_id: string;
  readonly definition_id: string;
}

/**
 * Receives the events of runs durably (webhooks): what a commit writes is noted for the sinks that want it, in the same transaction, and delivered at
 * least once, the events of one run in order. Events are named `workflow.` and their type outside: `workflow.run.completed`.
 *
 * While a sink is away (its plugin is disabled, reloaded, or its set-up failed), events are noted for it as well, for three days after it left. A sink that has
 * not been here since the workflow plugin began is not known in that process: what happens there before the sink comes is not noted.
 */
export interface EventSink {
  /** `[a-z][a-z0-9-]{0,63}`, once in the deployment, and the same after every restart: what waits for the sink is kept by it. */
  readonly name: string;
  /**
   * Whether somebody of the tenant wants any events now. Asked at each commit: it answers from memory, also for a while after its plugin has
   * stopped. Whoever does not know says true, or throws, which means the same. It is not asked again: what was noted is delivered.
   */
  wants(tenantId: string): boolean;
  /**
   * Takes events over, also those of a tenant that wants none any more: a sink that has no use for them resolves. Rejects when it cannot take them; they
   * come again, later and later. What is refused when it is older than three days does not.
   */
  deliver(events: readonly DeliveredEvent[], signal: AbortSignal): Promise<void>;
}

/** Receivers of the events of all runs. */
export const EventSinksPoint = extensionPoint<EventSink>('workflow.event-sinks');
