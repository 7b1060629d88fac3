import type { RunPlace } from '../../contract/engine.ts';

/**
 * Events of one run that a sink does not have yet, taken for a while: no other process gets events of this run for this sink until the claim is
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
  /** How long ago the first of them was written, when they were taken. Milliseconds by the database's clock. */
  readonly ageMs: number;
  /** How often they were taken, this time included, and what was given back not. */
  readonly attempts: number;
}

/** What is to be taken. */
export interface TakeRequest {
  readonly sink: string;
  readonly limit: number;
  readonly claimMs: number;
  /** How many entries of a tenant may be taken, 0 for none; default: as many as there are. Asked for tenants that have something due. */
  readonly room?: (tenantId: string) => number;
}

/** What was taken. */
export interface Taken {
  readonly entries: readonly OutboxEntry[];
  /** Whether the look ended before it was through: the next one may find more at once. */
  readonly hasMore: boolean;
}

/**
 * Events that wait for their delivery, over all tenants, for each sink on its own. Each is delivered at least once, those of a run in order. Rejects
 * with what the database throws.
 */
export interface Outbox {
  /**
   * Takes what is due for a sink, for `claimMs`: one entry a run, with all of its events that wait (500 at most, or those of one commit), fair over
   * tenants (the first of each, then the second …), older first. Of several callers at one time each gets other entries. The work of one call
   * is bounded, whatever waits.
   */
  take(request: TakeRequest): Promise<Taken>;
  /** Forgets events that were delivered. True when more of the run waits, and is due now. Nothing, and false, when another process has them. */
  done(entry: OutboxEntry): Promise<boolean>;
  /** Puts off an entry that the sink refused: it is taken again after `delayMs`. Nothing when the claim was over and another process has it. */
  postpone(entry: OutboxEntry, delayMs: number): Promise<void>;
  /** Like `postpone`, of an entry with which nothing was tried: the attempt does not count. */
  giveBack(entry: OutboxEntry, delayMs: number): Promise<void>;
  /**
   * Forgets those events of an entry whose commits are older than `olderThanMs` by the database's clock, and makes the rest due now. Gives how
   * many were forgotten; 0, and nothing is done, when another process has the entry.
   */
  giveUp(entry: OutboxEntry, olderThanMs: number): Promise<number>;
  /**
   * Forgets events older than `olderThanMs` of sinks that are not here, and of which nothing was taken for that long by any replica. Gives how many
   * events of which sinks.
   */
  forget(request: {
    readonly olderThanMs: number;
    readonly here: readonly string[];
  }): Promise<readonly { readonly sink: string; readonly events: number }[]>;
}
