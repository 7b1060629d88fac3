import type { TenantEntityManager } from 'agent-gateway';
import type { JsonObject } from '../../../../plugins/workflow/contract.ts';
import type { NewEvent } from '../../../../plugins/workflow/services/core/commands.ts';
import type { RunState, StepState } from '../../../../plugins/workflow/services/core/state.ts';
import type { Commit, Creation, RunStore } from '../../../../plugins/workflow/services/ports/run-store.ts';

/** A run as it is kept. */
export interface StoredRun {
  readonly state: RunState;
  readonly events: readonly NewEvent[];
  /** Numbers of the events that were noted for delivery. */
  readonly outbox: readonly string[];
}

/** One write that was stored. */
export interface StoredWrite {
  /** Who wrote: the name that the connection was opened with. */
  readonly writer: string;
  /** Undefined for a run that is new. */
  readonly before: StoredRun | undefined;
  readonly after: StoredRun;
  /** What the write brought. */
  readonly events: readonly NewEvent[];
  /** What the writer believes to have changed. */
  readonly believed: RunState | undefined;
}

/** Runs in memory, with the promises of a database: every call is one transaction, what is read is a copy. */
export interface MemoryStore {
  connect(writer: string): RunStore;
  run(runId: string): StoredRun | undefined;
  runs(): readonly StoredRun[];
  /** Whether a worker's lease is in force now. */
  isAlive(worker: string): boolean;
  /** The name that a worker's connection was opened with. */
  writerOf(worker: string): string | undefined;
  /** What other writes left that committed together with steps, in order. */
  readonly ledger: readonly JsonObject[];
}

/** What stands for the entity manager of a write that commits together with a step: it notes rows in the ledger. */
export interface LedgerEntities {
  note(row: JsonObject): void;
}

/** A memory store over a clock in milliseconds; `observe` hears every write in the moment that it is stored. */
export function createMemoryStore(options: {
  readonly now: () => number;
  readonly observe?: (write: StoredWrite) => void;
}): MemoryStore {
  const { now, observe } = options;
  const runs = new Map<string, StoredRun>();
  const keys = new Map<string, { readonly runId: string; readonly fingerprint: string }>();
  const workers = new Map<string, number>();
  const writers = new Map<string, string>();
  const ledger: JsonObject[] = [];

  const isAlive = (worker: string) => (workers.get(worker) ?? Number.NEGATIVE_INFINITY) > now();
  const write = (writer: string, before: StoredRun | undefined, commit: Creation | Commit) => {
    const given = 'state' in commit ? commit.state : commit.after;
    const believed = 'state' in commit ? undefined : commit.before;
    const events = commit.events.map((event) => freeze(structuredClone(event)));
    const after: StoredRun = {
      state: stored(given, believed, before?.state),
      events: [...(before?.events ?? []), ...events],
      outbox: [
        ...(before?.outbox ?? []),
        ...events.flatMap(({ seq }) => commit.sinks.map((sink) => `${sink} ${seq}`)),
      ],
    };
    runs.set(given.id, after);
    observe?.({ writer, before, after, events, believed });
  };

  const connect = (writer: string): RunStore => ({
    async create(creation) {
      const { state, idempotency } = creation;
      if (runs.has(state.id)) return 'exists';
      const key = idempotency && JSON.stringify([state.tenantId, idempotency.key]);
      const known = key === undefined ? undefined : keys.get(key);
      if (known !== undefined) return known;
      if (key !== undefined) keys.set(key, { runId: state.id, fingerprint: idempotency!.fingerprint });
      write(writer, undefined, creation);
      return 'created';
    },
    async read({ tenantId, runId }) {
      const run = runs.get(runId);
      return run?.state.tenantId === tenantId ? copy(run.state) : undefined;
    },
    async commit(commit) {
      const { id, tenantId, revision } = commit.before;
      const fits = () => {
        const state = runs.get(id)?.state;
        return state?.tenantId === tenantId && state.revision === revision;
      };
      if (!fits()) return false;
      const rows: JsonObject[] = [];
      const entities: LedgerEntities = { note: (row) => rows.push(freeze(structuredClone(row))) };
      await commit.also?.(entities as unknown as TenantEntityManager);
      // Somebody else may have been faster in the meantime.
      if (!fits()) return false;
      write(writer, runs.get(id), commit);
      ledger.push(...rows);
      return true;
    },
    async due(limit) {
      const nth = new Map<string, number>();
      return states()
        .filter((state) => state.wakeAt !== null && state.wakeAt <= now())
        .sort((one, other) => one.wakeAt! - other.wakeAt! || (one.id < other.id ? -1 : 1))
        .map((state) => {
          const turn = nth.get(state.tenantId) ?? 0;
          nth.set(state.tenantId, turn + 1);
          return { state, turn };
        })
        .sort((one, other) => one.turn - other.turn)
        .slice(0, limit)
        .map(({ state }) => ({ tenantId: state.tenantId, runId: state.id }));
    },
    async orphans(limit) {
      return states()
        .filter((state) => state.owner !== null && !isAlive(state.owner))
        .slice(0, limit)
        .map((state) => ({ tenantId: state.tenantId, runId: state.id, owner: state.owner! }));
    },
    async owned(worker) {
      return states()
        .filter((state) => state.owner === worker)
        .map((state) => ({ tenantId: state.tenantId, runId: state.id, revision: state.revision }));
    },
    async join(worker, leaseMs) {
      workers.set(worker, now() + leaseMs);
      writers.set(worker, writer);
    },
    async renew(worker, leaseMs) {
      if (!isAlive(worker)) return false;
      workers.set(worker, now() + leaseMs);
      return true;
    },
    async leave(worker) {
      workers.delete(worker);
    },
  });

  const states = () => [...runs.values()].map((run) => run.state);
  return {
    connect,
    run: (runId) => runs.get(runId),
    runs: () => [...runs.values()],
    isAlive,
    writerOf: (worker) => writers.get(worker),
    ledger,
  };
}

/** As a database would keep it: steps that are the objects that the writer has read stay as they were stored. */
function stored(given: RunState, believed: RunState | undefined, before: RunState | undefined): RunState {
  const steps = new Map(before?.steps);
  for (const [nodeId, step] of given.steps) {
    if (believed?.steps.get(nodeId) === step && steps.has(nodeId)) continue;
    steps.set(nodeId, freeze(structuredClone(step)));
  }
  const { steps: _, ...rest } = given;
  return Object.freeze({ ...freeze(structuredClone(rest)), steps });
}

function copy(state: RunState): RunState {
  const steps = new Map<string, StepState>();
  for (const [nodeId, step] of state.steps) steps.set(nodeId, Object.freeze({ ...step }));
  return Object.freeze({ ...state, steps });
}

/** Makes it immutable down to the ground: whoever changes what he has read fails. */
function freeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    for (const member of Object.values(value)) freeze(member);
    Object.freeze(value);
  }
  return value;
}
