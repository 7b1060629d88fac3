import type { RunPlace } from '../../contract/engine.ts';

/**
 * Events of one run that a sink does not have yet, taken for a while: nobody else is given events of this run for this sink until the claim is
 * over.
 */
export interface OutboxEntry extends RunPlace {
  /** Whom they are for. */
  readonly sink: string;
  /** Names the claim. */
  readonly claim: string;
  /** Numbers of the first and the last event. */
  readonly fromSeq: number;
  readonly toSeq: number;
  /** When the first of them was written. Milliseconds on the database's clock. */
  readonly createdAt: number;
  /** How often they were taken, this time included. */
  readonly attempts: number;
}

/**
 * Events that wait for their delivery, over all tenants, for each sink on its own. Each is delivered at least once, those of a run in order.
 */
export interface Outbox {
  /**
   * Takes what is due for a sink, for `claimMs`: one entry a run, with all of its events that wait (500 at most, or those of one commit), fair over
   * tenants (the first of each, then the second …), older first. Of several callers at one time each gets other entries.
   */
  take(request: {
    readonly sink: string;
    readonly limit: number;
    readonly claimMs: number;
  }): Promise<readonly OutboxEntry[]>;
  /** Forgets events that were delivered, or given up. Whatever the claim: delivered is delivered. */
  done(entry: OutboxEntry): Promise<void>;
  /** Gives an entry back, to be taken again after `delayMs`. Nothing when the claim was over and somebody else has it. */
  postpone(entry: OutboxEntry, delayMs: number): Promise<void>;
  /** Forgets what has been due for that long for other sinks than those that are here. Gives how many events of which sinks. */
  forget(request: {
    readonly dueForMs: number;
    readonly here: readonly string[];
  }): Promise<readonly { readonly sink: string; readonly events: number }[]>;
}
