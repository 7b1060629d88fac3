import type { Logger } from 'agent-gateway';
import type { RunPlace, WorkflowLimits } from '../../contract/engine.ts';
import type { Command, NewEvent, Verdict } from '../core/commands.ts';
import type { RunState } from '../core/state.ts';
import type { Execute } from './execution.ts';
import type { Graphs } from './graphs.ts';
import type { Creation, RunStore } from './run-store.ts';
import type { RunnerObserver } from './runner-observer.ts';
import type { Timers } from './timers.ts';
import type { Wake } from './wake.ts';

/** What a runner works with. */
export interface RunnerParts {
  readonly store: RunStore;
  readonly graphs: Graphs;
  readonly execute: Execute;
  readonly wake: Wake;
  readonly timers: Timers;
  readonly limits: WorkflowLimits;
  readonly newId: () => string;
  readonly log: Logger;
  /** Names of the sinks that want the events of a tenant's runs delivered. */
  readonly sinksOf: (tenantId: string) => readonly string[];
  /** Hears what was committed here, in the order of the commits of a run. Never throws. */
  readonly committed: (state: RunState, events: readonly NewEvent[]) => void;
  readonly observer?: RunnerObserver | undefined;
}

/** A new run, before its first transition. */
export interface NewRun {
  readonly tenantId: string;
  readonly definitionId: string;
  readonly versionId: string;
  readonly version: number;
  readonly input: RunState['input'];
  readonly startedBy: string;
  readonly idempotency?: Creation['idempotency'];
}

/**
 * One process's share in all runs: applies what happens, carries out the steps that it claims, takes over what others lost.
 */
export interface Runner {
  /** Makes this process known as a worker and begins to renew its lease. */
  open(): Promise<void>;
  /**
   * Stores a run, with its first steps claimed where there is room. `existing`: the idempotency key is known, and nothing was stored.
   */
  start(
    run: NewRun,
  ): Promise<
    | { readonly state: RunState }
    | { readonly existing: { readonly runId: string; readonly fingerprint: string } }
  >;
  /** Applies what somebody did to a run, wherever the run is owned. Undefined: there is no such run. Rejects when the database is away. */
  apply(
    place: RunPlace,
    occurrence: Command,
  ): Promise<{ readonly state: RunState; readonly verdict: Verdict } | undefined>;
  /** Looks at a run: timers that are over, steps to be claimed. Never rejects; false where it could not look now (no room, no database). */
  look(place: RunPlace): Promise<boolean>;
  /** Whether a run is `running` and steps of it are in the hands of this process: then it is the first to know how they end. */
  isRunningHere(place: RunPlace): boolean;
  /** Somebody else changed a run that this process may own. */
  changed(place: RunPlace): void;
  /** Looks for due runs, orphans, and what was changed behind the back. Called every `sweepIntervalMs`. */
  sweep(signal: AbortSignal): Promise<void>;
  /**
   * Takes no new work; gives back at once what was claimed and not begun, lets running steps end until `signal` aborts, then gives
   * them back too, forgets the worker. Hints go out for everything that is handed over. Resolves when nothing of it is owned any more.
   */
  close(signal: AbortSignal): Promise<void>;
  /** Steps that are carried out here now, for metrics. */
  readonly running: number;
}
