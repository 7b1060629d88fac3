import pino from 'pino';
import { DatabaseClock } from '../../../../../foundation/data/database-clock.ts';
import type { RunPlace } from '../../../../../plugins/workflow/contract/engine.ts';
import type { WorkflowLimits } from '../../../../../plugins/workflow/contract/engines.ts';
import type { JsonObject } from '../../../../../plugins/workflow/contract/graph.ts';
import type { StepResult } from '../../../../../plugins/workflow/contract/node-types.ts';
import type { Command, NewEvent } from '../../../../../plugins/workflow/services/core/commands.ts';
import type { RunState, StepState } from '../../../../../plugins/workflow/services/core/state.ts';
import type { CompiledGraph } from '../../../../../plugins/workflow/services/graph/compiled-graph.ts';
import type { Execute } from '../../../../../plugins/workflow/services/ports/execution.ts';
import { createRunner } from '../../../../../plugins/workflow/services/runner/create-runner.ts';
import type { Runner } from '../../../../../plugins/workflow/services/runner/runner.ts';
import { NO_METRICS } from '../../no-metrics.ts';
import { chain } from '../core/graph-builder.ts';
import { ManualTime, settle } from './manual-timers.ts';
import { type Connection, MemoryStore } from './memory-store.ts';

/** What the database's clock shows at the beginning; the clocks of the processes show nothing of it. */
export const T0 = Date.UTC(2026, 0, 1);

const LIMITS: WorkflowLimits = {
  maxSteps: 500,
  stepTimeoutMs: 300_000,
  leaseMs: 10_000,
  sweepIntervalMs: 5_000,
  concurrency: 64,
};

/** One step that a replica carries out, until the test ends it. */
export interface Work {
  readonly run: RunState;
  readonly step: StepState;
  readonly signal: AbortSignal;
  succeed(output?: JsonObject, also?: StepResult['also']): void;
  fail(error: unknown): void;
}

export interface ReplicaOptions {
  readonly limits?: Partial<WorkflowLimits>;
  /** Default: the steps wait in `works`. */
  readonly execute?: Execute;
  /** Whether hints reach the replicas; default true. */
  readonly hints?: boolean;
}

export interface Replica extends Runner {
  readonly store: Connection;
  /** Steps in the order in which they were begun. */
  readonly works: Work[];
  /** Hints that went out: `look <run>`, `look <run> in <ms>`, `changed <run>`. */
  readonly hints: string[];
  readonly committed: { readonly state: RunState; readonly events: readonly NewEvent[] }[];
  /** What was counted. */
  readonly observed: Record<string, number>;
  readonly log: string[];
  /** The last call of a node. */
  work(nodeId: string): Work;
  run(
    tenantId?: string,
    more?: { readonly idempotency?: { key: string; fingerprint: string } },
  ): Promise<string>;
  do(runId: string, command: Command): ReturnType<Runner['apply']>;
  sweepNow(): Promise<void>;
  /** The process is gone: no timer, no answer, no word. */
  crash(): void;
}

/** Several replicas over one database, and the time. */
export class World {
  readonly time = new ManualTime();
  /** How far the database's clock was moved. */
  skew = 0;
  readonly database = new MemoryStore(() => T0 + this.time.now + this.skew);
  readonly #graph: CompiledGraph;
  readonly #replicas: Replica[] = [];
  #ids = 0;

  /** @param graph the graph of all runs */
  constructor(graph: CompiledGraph = chain(2)) {
    this.#graph = graph;
  }

  async replica({ limits = {}, execute, hints: isHinted = true }: ReplicaOptions = {}): Promise<Replica> {
    const store = this.database.connect();
    let isDead = false;
    const works: Work[] = [];
    const hints: string[] = [];
    const log: string[] = [];
    const committed: Replica['committed'] = [];
    const observed: Record<string, number> = {};
    const count = (name: string, by = 1) => {
      observed[name] = (observed[name] ?? 0) + by;
    };
    const wait: Execute = ({ run, step, signal }) => {
      const { promise, resolve, reject } = Promise.withResolvers<StepResult>();
      const succeed: Work['succeed'] = (output = {}, also) => resolve({ output, ...(also && { also }) });
      works.push({ run, step, signal, succeed, fail: reject });
      return promise;
    };
    const timers = this.time.timers(() => isDead);
    const clock = new DatabaseClock(async () => T0 + this.time.now + this.skew, timers);
    const runner = createRunner({
      store,
      clock,
      timers,
      graphs: { get: async () => this.#graph },
      execute: execute ?? wait,
      limits: { ...LIMITS, ...limits },
      newId: () => `id-${++this.#ids}`,
      log: pino({}, { write: (line) => void log.push(line) }),
      sinksOf: () => [],
      committed: (state, events) => void committed.push({ state, events }),
      notifier: {
        poll: (place, delay) => {
          hints.push(`look ${place.runId}${delay === undefined ? '' : ` in ${delay}`}`);
          if (isHinted) this.#look(place, delay ?? 0);
        },
        changed: (place) => {
          hints.push(`changed ${place.runId}`);
          if (isHinted) for (const one of this.#replicas) one.changed(place);
        },
      },
      metrics: {
        ...NO_METRICS.runner,
        delivered: (_, result) => count(result),
        redelivered: () => count('redelivered'),
        committed: (result) => count(result),
        late: () => count('late'),
        abandoned: (change) => count('abandoned', change),
        found: (what, found) => count(what, found),
        expired: () => count('expired'),
      },
    });
    const replica: Replica = Object.assign(Object.create(runner) as Runner, {
      store,
      works,
      hints,
      committed,
      observed,
      log,
      work: (nodeId: string) => {
        const work = works.findLast(({ step }) => step.nodeId === nodeId);
        if (work === undefined) throw new Error(`${nodeId} was not begun`);
        return work;
      },
      run: async (tenantId = 'tenant', more = {}) => {
        const started = await runner.start({ ...newRun, tenantId, ...more });
        if ('existing' in started) return started.existing.runId;
        return started.state.id;
      },
      do: (runId: string, command: Command) =>
        runner.apply({ tenantId: this.database.run(runId).tenantId, runId }, command),
      sweepNow: async () => {
        await runner.sweep(new AbortController().signal);
        await settle();
      },
      crash: () => {
        isDead = true;
        store.isAway = true;
        this.#replicas.splice(this.#replicas.indexOf(replica), 1);
      },
    });
    this.#replicas.push(replica);
    await clock.renew();
    await replica.open();
    return replica;
  }

  /** Statuses by node. */
  statuses(runId: string): Record<string, string> {
    return Object.fromEntries([...this.database.run(runId).steps].map(([id, { status }]) => [id, status]));
  }

  step(runId: string, nodeId: string): StepState {
    return this.database.run(runId).steps.get(nodeId)!;
  }

  /** Some replica looks, and the next one where it cannot. */
  #look(place: RunPlace, delay: number): void {
    const look = async () => {
      for (const replica of [...this.#replicas]) if (await replica.poll(place)) return;
    };
    this.time.timers().after(delay, () => void look());
  }
}

export const newRun = {
  tenantId: 'tenant',
  definitionId: 'definition',
  versionId: 'version',
  version: 1,
  input: {},
  startedBy: 'anna',
};

/** An executor that is done at once. */
export const instantly: Execute = () => Promise.resolve({ output: {} });

export { settle };
