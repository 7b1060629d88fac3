import type { Clock, Logger } from 'agent-gateway';
import type { RunPlace } from '../../contract/engine.ts';
import type { WorkflowLimits } from '../../contract/engines.ts';
import type { RunnerMetrics } from '../../metrics.ts';
import type { Origin } from '../core/advance.ts';
import type { Command, NewEvent, Verdict } from '../core/commands.ts';
import type { RunState } from '../core/state.ts';
import type { Graphs } from '../graphs.ts';
import type { Execute } from '../ports/execution.ts';
import type { Creation, RunStore } from '../ports/run-store.ts';
import type { Notifier, Timers } from '../ports/runtime.ts';

/** What a runner works with. */
export interface RunnerParts {
  readonly store: RunStore;
  readonly graphs: Graphs;
  readonly execute: Execute;
  readonly notifier: Notifier;
  /** The one that all processes over the store have in common. */
  readonly clock: Pick<Clock, 'now'>;
  readonly timers: Timers;
  readonly limits: WorkflowLimits;
  /** Whether a step that fails for good ends its run; default: it pauses it. */
  readonly endsOnFailure?: boolean;
  readonly newId: () => string;
  readonly log: Logger;
  /** Names of the sinks that want the events of a tenant's runs delivered. */
  readonly sinksOf: (tenantId: string) => readonly string[];
  /** Called with what was committed here, in the order of the commits of a run. Never throws. */
  readonly committed: (state: RunState, events: readonly NewEvent[]) => void;
  readonly metrics: RunnerMetrics;
}

/** A new run, before its first transition. */
export type NewRun = Omit<Origin, 'id'> & Pick<Creation, 'idempotency'>;

/** The result of a start. */
export type Started =
  | { readonly state: RunState }
  | { readonly existing: { readonly runId: string; readonly fingerprint: string } };

/** The result of a command that a caller sent. */
export interface Answer {
  readonly state: RunState;
  readonly verdict: Verdict;
}

/**
 * One process's share in all runs: applies changes, carries out the steps that it claims, takes over runs of lost
 * workers.
 */
export interface Runner {
  /** Registers this process as a worker and begins to renew its lease. */
  open(): Promise<void>;
  /**
   * Stores a run, with its first steps claimed where there is room. `existing`: the idempotency key is known, and
   * nothing was stored.
   */
  start(run: NewRun): Promise<Started>;
  /**
   * Applies a command to a run, whichever process owns it. Undefined: there is no such run. Rejects when the database
   * does not answer.
   */
  apply(place: RunPlace, command: Command): Promise<Answer | undefined>;
  /**
   * Polls a run: handles due timers, claims steps. Never rejects; false if it could not do so now (no room, no
   * database).
   */
  poll(place: RunPlace): Promise<boolean>;
  /**
   * Whether a run is `running` and steps of it are carried out by this process: then it is the first process to see how
   * they end.
   */
  isRunningHere(place: RunPlace): boolean;
  /** Another process changed a run that this one may own. */
  changed(place: RunPlace): void;
  /**
   * Looks for due runs, runs of dead workers, and runs that were changed elsewhere. Called every `sweepIntervalMs`,
   * never twice at once.
   */
  sweep(signal: AbortSignal): Promise<void>;
  /**
   * Takes no new steps; gives back at once what was claimed and not begun, lets running steps end until `signal`
   * aborts, then gives them back too, and removes the worker. Other replicas are notified of everything that is handed
   * over. Resolves when this process owns nothing any more. Runs are still started and changed, for the calls in
   * flight.
   */
  handOver(signal: AbortSignal): Promise<void>;
  /** Hands over, unless that was done, and ends: from then on runs can neither be started nor changed here. */
  close(signal: AbortSignal): Promise<void>;
  /** Steps that are carried out here now. */
  readonly running: number;
}
