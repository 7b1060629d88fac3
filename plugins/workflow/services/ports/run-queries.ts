import type { RunPlace, RunQuery } from '../../contract/engine.ts';
import type { RunStatus } from '../../contract/runs.ts';
import type { NewEvent } from '../core/commands.ts';
import type { RunState, StepState } from '../core/state.ts';

/** A run without its steps. Raw: what leaves the engine is redacted by whoever shows it. */
export type RunHead = Omit<RunState, 'steps'>;

/** An event as it was stored; its data were redacted before. */
export type StoredEvent = NewEvent;

/** A human task that waits. */
export interface OpenTask {
  readonly runId: string;
  readonly definitionId: string;
  readonly versionId: string;
  readonly step: StepState;
}

/** Which open tasks. Oldest first. */
export interface OpenTaskQuery {
  /** Tasks of nobody (`assignee` null) and of these assignees (a user id, `role:<name>`); absent: all of the tenant. */
  readonly assignees?: readonly string[] | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** How far a run is, for those who follow it. */
export interface RunPosition {
  readonly status: RunStatus;
  /** Number of the last event. */
  readonly seq: number;
}

/**
 * What is shown of runs. Each method sees one tenant; what belongs to another one is not there. They change nothing and throw nothing but
 * what the database throws.
 */
export interface RunQueries {
  /** A run without its steps. Use `RunStore.read` for both together. */
  head(place: RunPlace): Promise<RunHead | undefined>;
  /** Runs that match, newest start first (of one moment the higher id), and how many match in all. */
  list(
    tenantId: string,
    query: RunQuery,
  ): Promise<{ readonly runs: readonly RunHead[]; readonly total: number }>;
  /** Steps of a run in the order of their creation, then of their ids; empty where there is no such run. */
  steps(place: RunPlace): Promise<readonly StepState[]>;
  /** One step of the run. */
  step(place: RunPlace & { readonly stepId: string }): Promise<StepState | undefined>;
  openTasks(tenantId: string, query: OpenTaskQuery): Promise<readonly OpenTask[]>;
  /** Events after a number (default 0), oldest first, and how many the run has in all. No such run: none. */
  events(
    place: RunPlace & { readonly after?: number | undefined; readonly limit: number },
  ): Promise<{ readonly events: readonly StoredEvent[]; readonly total: number }>;
  /** Events of one step, oldest first, `limit` at most. */
  eventsOfStep(
    place: RunPlace & { readonly stepId: string; readonly limit: number },
  ): Promise<readonly StoredEvent[]>;
  /** What an idempotency key has started. */
  startOf(
    tenantId: string,
    key: string,
  ): Promise<{ readonly runId: string; readonly fingerprint: string } | undefined>;
  /** Status and last event number of a run, as cheaply as can be. */
  position(place: RunPlace): Promise<RunPosition | undefined>;
}
