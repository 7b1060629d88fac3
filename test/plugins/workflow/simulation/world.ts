import type { Graph } from '../../../../plugins/workflow/contract.ts';
import type { CompiledGraph } from '../../../../plugins/workflow/services/graph/compiled-graph.ts';
import type { RunStore } from '../../../../plugins/workflow/services/ports/run-store.ts';
import type { Runner, RunnerParts } from '../../../../plugins/workflow/services/runner/runner.ts';
import type { Database } from './connection.ts';
import type { Faults } from './faults.ts';
import type { MemoryStore } from './memory-store.ts';
import type { SimulatedProcess } from './process.ts';
import type { Profile } from './profiles.ts';
import type { Random } from './random.ts';
import type { Deliveries } from './rules/delivery-rules.ts';
import type { Scheduler } from './scheduler.ts';

/** A version of a graph that runs are started from. */
export interface Version {
  readonly id: string;
  readonly graph: Graph;
  readonly compiled: CompiledGraph;
}

/** A process with its runner. */
export interface Member {
  readonly process: SimulatedProcess;
  readonly runner: Runner;
  state: 'opening' | 'open' | 'closing';
}

/** Mistakes that are built in on purpose, to see that they are found. */
export interface Tampering {
  /** Stands before the database. */
  readonly store?: (store: RunStore) => RunStore;
  /** Stands before what a runner works with. */
  readonly parts?: (parts: RunnerParts) => RunnerParts;
}

/** What all parts of a simulation share. */
export interface World {
  readonly profile: Profile;
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly store: MemoryStore;
  readonly database: Database;
  readonly versions: ReadonlyMap<string, Version>;
  readonly deliveries: Deliveries;
  readonly tampering: Tampering;
  /** All processes that have not vanished. */
  readonly members: Set<Member>;
  /** By process: milliseconds that its idea of the store's clock may have been off at most. */
  readonly clockErrors: Map<string, () => number>;
  readonly createRunner: (parts: RunnerParts) => Runner;
  /** What the store's clock shows. */
  storeNow(): number;
  /** Those of this moment: none any more once trouble is over. */
  faults(): Faults;
  isTroubled(): boolean;
  /** Counts what happened, so that it is known what the simulation has seen at all. */
  count(what: string): void;
  /** Something that must never be so. The simulation ends with the first. */
  violate(what: string): void;
}
