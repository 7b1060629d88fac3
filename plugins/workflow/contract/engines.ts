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
  /** After this time without a heartbeat other replicas take over a replica's steps. */
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
  /** Types in addition to `agent_task`, `service_task` and those of `NodeTypesPoint`. */
  readonly nodeTypes?: readonly NodeType[];
  /** Default: those of the plugin's configuration. */
  readonly limits?: Partial<WorkflowLimits>;
  /** Whether its events go to `EventSinksPoint`. Default false. */
  readonly isDelivered?: boolean;
  /**
   * Whether a step that fails for good ends its run: what is left is cancelled in the same commit, `run.cancelled`
   * follows `run.paused`, and the run keeps its `error`. Default false: it is paused, and can be retried.
   */
  readonly endsOnFailure?: boolean;
}

/** A further engine that is opened when it is needed. */
export interface PreparedEngine {
  /** Opens it, unless it is open. Rejects with the cause if that fails; the next call tries again. */
  open(): Promise<OpenedEngine>;
  /** The open engine; undefined before the first call of `open`. */
  readonly opened: OpenedEngine | undefined;
}

/** A further engine, with what its plugin needs for data protection. */
export interface OpenedEngine {
  readonly engine: WorkflowEngine;
  readonly archive: EngineArchive;
  readonly database: Database;
}

/** Makes engines over databases of other plugins. */
export interface WorkflowEngines {
  /**
   * Makes an engine during the set-up of a plugin, which needs `WorkflowEnginesRef`, and binds its life to that plugin:
   * it begins to work when the plugin is published, and hands its runs over when it stops. The database outlives it:
   * register the `scope.defer` that closes it before this call.
   *
   * @throws TypeError for an invalid name; DatabaseDefect for one that is taken
   */
  open(scope: Scope, options: EngineOptions): Promise<WorkflowEngine>;
  /**
   * The same for an engine that may never be needed: nothing is opened or registered, and `database` is not called,
   * before the first `open()` of the result, during the set-up or later. Then `database` is called once for each
   * attempt.
   *
   * @throws TypeError for an invalid name
   */
  prepare(
    scope: Scope,
    options: Omit<EngineOptions, 'database'> & { readonly database: () => Promise<Database> },
  ): PreparedEngine;
  /** The tables of engines of this name that hold personal data, for the sections of a `PersonalData`. */
  tablesOf(name: string): EngineTables;
}

/** The factory, for plugins with databases of their own. */
export const WorkflowEnginesRef = serviceRef<WorkflowEngines>('workflow.engines');
