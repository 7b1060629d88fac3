import { type Database, type Scope, serviceRef } from 'agent-gateway';
import type { WorkflowEngine } from './engine.ts';
import type { EngineArchive, EngineTables } from './engine-archive.ts';
import type { NodeType } from './node-types.ts';

/** Limits of an engine. Milliseconds. */
export interface WorkflowLimits {
  /** Activated steps of one run at most, start and end included. */
  readonly maxSteps: number;
  /** Time of one attempt of a step. */
  readonly stepTimeoutMs: number;
  /** After this time without a sign of life a replica's steps go to others. */
  readonly leaseMs: number;
  /** How often an engine looks for work that no message announced. */
  readonly sweepIntervalMs: number;
  /** Steps that this process carries out at one time. */
  readonly concurrency: number;
}

/** How a further engine is made. */
export interface EngineOptions {
  /** Names its tables (`<name>_runs` …), its queue and its events: `[a-z][a-z0-9]{0,15}`, once in a database. */
  readonly name: string;
  readonly database: Database;
  /** Types beside `agent_task`, `service_task` and those of `NodeTypesPoint`. */
  readonly nodeTypes?: readonly NodeType[];
  /** Default: those of the plugin's configuration. */
  readonly limits?: Partial<WorkflowLimits>;
  /** Whether its events go to `EventSinksPoint`. Default false. */
  readonly isDelivered?: boolean;
  /**
   * Whether a step that fails for good ends its run: what is left is cancelled in the same commit, `run.cancelled` follows `run.paused`, and the run keeps its
   * `error`. Default false: it is paused, and can be retried.
   */
  readonly endsOnFailure?: boolean;
}

/** A further engine that is opened when it is needed. */
export interface PreparedEngine {
  /** Opens it, unless it is open. Rejects with what stands in the way; the next call tries again. */
  open(): Promise<OpenedEngine>;
  /** What is open; undefined while nobody has needed it. */
  readonly opened: OpenedEngine | undefined;
}

/** A further engine, with what its plugin owes to those whose data it keeps. */
export interface OpenedEngine {
  readonly engine: WorkflowEngine;
  readonly archive: EngineArchive;
  readonly database: Database;
}

/** Makes engines over databases of other plugins. */
export interface WorkflowEngines {
  /**
   * Makes an engine during the set-up of a plugin, which needs `WorkflowEnginesRef`, and binds its life to that plugin: it begins to work when the plugin
   * is published, and hands its runs over when it stops. The database outlives it: close it with a `scope.defer` that stands before.
   *
   * @throws TypeError for a name that is none; DatabaseDefect for one that is taken
   */
  open(scope: Scope, options: EngineOptions): Promise<WorkflowEngine>;
  /**
   * The same for an engine that may never be needed: nothing is opened, registered or asked until `open` of what it gives is called, in the set-up or at any
   * time later. Then `database` is called once for each attempt.
   *
   * @throws TypeError for a name that is none
   */
  prepare(
    scope: Scope,
    options: Omit<EngineOptions, 'database'> & { readonly database: () => Promise<Database> },
  ): PreparedEngine;
  /** The tables of engines of this name that hold something of persons, for the sections of a `PersonalData`. */
  tablesOf(name: string): EngineTables;
}

/** The factory, for plugins with databases of their own. */
export const WorkflowEnginesRef = serviceRef<WorkflowEngines>('workflow.engines');
