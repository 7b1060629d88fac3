import type { TenantEntityManager } from 'agent-gateway';
import { DatabaseErrors } from '../../../../../foundation/data/errors.ts';
import type { NewEvent } from '../../../../../plugins/workflow/services/core/commands.ts';
import type { RunState } from '../../../../../plugins/workflow/services/core/state.ts';
import type { Commit, Creation, RunStore } from '../../../../../plugins/workflow/services/ports/run-store.ts';

type Method = keyof RunStore;

/**
 * What goes wrong with a call: `lost` was not stored, `unheard` was stored, and the caller is told in both cases that
 * it failed; `away` is what a database says that is not there.
 */
export type Fault = 'lost' | 'unheard' | 'away';

/** One process's connection to the database. */
export interface Connection extends RunStore {
  /** The next calls of a method go wrong, one fault each. */
  fail(method: Method, ...faults: Fault[]): void;
  /** No call is answered any more, or they are again. */
  isAway: boolean;
  /** Holds the calls of a method back; the disposer lets them go, and all that come later. */
  hold(method: Method): () => void;
  /** Called before each call is carried out. */
  before: (method: Method, args: readonly unknown[]) => void;
  /** Calls of a method so far. */
  count(method: Method): number;
}

interface StoredRun {
  state: RunState;
  readonly events: NewEvent[];
}

/** What a commit wrote together with a step. */
export interface Ledger {
  note(row: string): void;
}

/** Runs in memory: each call one transaction, time from outside. What is read is a copy, as from a database. */
export class MemoryStore {
  readonly #now: () => number;
  readonly #runs = new Map<string, StoredRun>();
  readonly #keys = new Map<string, { readonly runId: string; readonly fingerprint: string }>();
  /** By worker: until when it lives. */
  readonly workers = new Map<string, number>();
  /** What others wrote together with steps. */
  readonly ledger: string[] = [];
  /** Commits by run, in order: the revision and the number of changed steps. */
  readonly commits: { readonly runId: string; readonly revision: number }[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The run as it is stored. */
  run(runId: string): RunState {
    return this.#runs.get(runId)!.state;
  }

  /** It is not there any more, as after an erasure. */
  erase(runId: string): void {
    this.#runs.delete(runId);
  }

  runs(): RunState[] {
    return [...this.#runs.values()].map(({ state }) => state);
  }

  events(runId: string): readonly NewEvent[] {
    return this.#runs.get(runId)!.events;
  }

  connect(): Connection {
    const faults = new Map<Method, Fault[]>();
    const held = new Map<Method, Promise<void>>();
    const counts = new Map<Method, number>();
    const store = this.#open();
    const call = async (method: Method, args: unknown[]): Promise<unknown> => {
      counts.set(method, (counts.get(method) ?? 0) + 1);
      await held.get(method);
      connection.before(method, args);
      const fault = faults.get(method)?.shift();
      if (fault === 'away') throw DatabaseErrors.unavailable();
      if (connection.isAway || fault === 'lost') throw new Error(`the connection was lost: ${method}`);
      const result = await (store[method] as (...all: unknown[]) => Promise<unknown>)(...args);
      if (fault === 'unheard') throw new Error(`the answer was lost: ${method}`);
      return result;
    };
    const methods = Object.keys(store) as Method[];
    const connection = {
      ...Object.fromEntries(methods.map((method) => [method, (...args: unknown[]) => call(method, args)])),
      isAway: false,
      before: () => {},
      fail(method: Method, ...added: Fault[]) {
        faults.set(method, [...(faults.get(method) ?? []), ...added]);
      },
      hold(method: Method) {
        const { promise, resolve } = Promise.withResolvers<void>();
        held.set(method, promise);
        return () => {
          held.delete(method);
          resolve();
        };
      },
      count: (method: Method) => counts.get(method) ?? 0,
    } as unknown as Connection;
    return connection;
  }

  #open(): RunStore {
    const isAlive = (worker: string) => (this.workers.get(worker) ?? 0) > this.#now();
    return {
      create: async (creation) => this.#create(creation),
      read: async ({ tenantId, runId }) => {
        const state = this.#runs.get(runId)?.state;
        return state?.tenantId === tenantId ? structuredClone(state) : undefined;
      },
      commit: async (commit) => this.#commit(commit),
      due: async (limit) =>
        fair(this.runs().filter((run) => (run.wakeAt ?? Infinity) <= this.#now())).slice(0, limit),
      orphans: async (limit) =>
        this.runs()
          .filter(({ owner }) => owner !== null && !isAlive(owner))
          .slice(0, limit)
          .map((run) => ({ ...placeOf(run), owner: run.owner! })),
      owned: async (worker) =>
        this.runs()
          .filter(({ owner }) => owner === worker)
          .map((run) => ({ ...placeOf(run), revision: run.revision })),
      join: async (worker, leaseMs) => void this.workers.set(worker, this.#now() + leaseMs),
      renew: async (worker, leaseMs) => {
        if (!isAlive(worker)) return false;
        this.workers.set(worker, this.#now() + leaseMs);
        return true;
      },
      leave: async (worker) => void this.workers.delete(worker),
    };
  }

  #create({ state, events, idempotency }: Creation): Awaited<ReturnType<RunStore['create']>> {
    if (this.#runs.has(state.id)) return 'exists';
    const key = idempotency && `${state.tenantId}/${idempotency.key}`;
    const known = key === undefined ? undefined : this.#keys.get(key);
    if (known !== undefined) return known;
    if (key !== undefined) this.#keys.set(key, { runId: state.id, fingerprint: idempotency!.fingerprint });
    this.#runs.set(state.id, { state: structuredClone(state), events: [...events] });
    return 'created';
  }

  async #commit({ before, after, events, also }: Commit): Promise<boolean> {
    const run = this.#runs.get(before.id);
    if (run?.state.revision !== before.revision) return false;
    const rows: string[] = [];
    const ledger: Ledger = { note: (row) => void rows.push(row) };
    await also?.(ledger as unknown as TenantEntityManager);
    if (run.state.revision !== before.revision) return false;
    run.state = structuredClone(after);
    run.events.push(...events);
    this.ledger.push(...rows);
    this.commits.push({ runId: before.id, revision: after.revision });
    return true;
  }
}

const placeOf = ({ tenantId, id }: RunState) => ({ tenantId, runId: id });

/** The first of each tenant, then the second …; older first. */
function fair(runs: RunState[]) {
  const byTenant = new Map<string, number>();
  return runs
    .sort((one, other) => one.wakeAt! - other.wakeAt!)
    .map((run) => {
      const turn = byTenant.get(run.tenantId) ?? 0;
      byTenant.set(run.tenantId, turn + 1);
      return { turn, place: placeOf(run) };
    })
    .sort((one, other) => one.turn - other.turn)
    .map(({ place }) => place);
}
