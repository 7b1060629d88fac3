import { extensionPoint } from 'agent-gateway';
import type { RunEventRecord } from './runs.ts';

/** An event of a run, with what a receiver needs to know of the run. Redacted. */
export interface DeliveredEvent extends RunEventRecord {
  readonly tenant_id: string;
  readonly run_id: string;
  readonly definition_id: string;
}

/**
 * Receives the events of runs durably (webhooks): each commit records its events for the sinks that want them, in the
 * same transaction; they are delivered at least once, the events of one run in order. Outside, an event is named
 * `workflow.` and its type: `workflow.run.completed`.
 *
 * While a sink is away (its plugin is disabled, reloaded, or its set-up failed), events are still recorded for it, for
 * three days after it left. A process does not know a sink that has not been registered in it since its workflow plugin
 * started: what happens there before the sink is registered is not recorded.
 */
export interface EventSink {
  /**
   * `[a-z][a-z0-9-]{0,63}`, once in the deployment, and the same after every restart: events that wait for the sink are
   * stored under it.
   */
  readonly name: string;
  /**
   * Whether any receiver of the tenant wants events now. Called at each commit, also for a while after the sink's
   * plugin has stopped: it must answer from memory. A sink that does not know returns true, or throws, which means the
   * same. It is not called again before delivery: what was recorded is delivered.
   */
  wants(tenantId: string): boolean;
  /**
   * Takes events over, also those of a tenant that no longer wants any: a sink that has no use for them resolves.
   * Rejects when it cannot take them; they are then delivered again, after growing delays. Events that are refused when
   * they are older than three days are given up.
   */
  deliver(events: readonly DeliveredEvent[], signal: AbortSignal): Promise<void>;
}

/** Receivers of the events of all runs. */
export const EventSinksPoint = extensionPoint<EventSink>('workflow.event-sinks', {
  name: 'text',
  wants: 'function',
  deliver: 'function',
});
