import { AsyncLocalStorage } from 'node:async_hooks';
import { assertOutsideTransaction, type Database, isDatabaseUnavailable, type RowWrite } from 'agent-gateway';
import { sizeOf } from './run-writes.ts';

/** Writes of one run, stored whole or not at all. */
export interface RunWrites {
  readonly tenantId: string;
  readonly runId: string;
  readonly writes: readonly RowWrite[];
}

/** Stores the writes of runs; those of several runs together where that is cheaper. */
export interface WriteGroups {
  /** False, and nothing is stored, when an update matched another number of rows than it expects. */
  write(one: RunWrites): Promise<boolean>;
}

/** Runs in one transaction at most: each of them waits for all. */
const MAX_RUNS = 32;
/** Characters of their values in one transaction, about; what is larger goes alone. */
const MAX_SIZE = 1024 * 1024;
/**
 * Transactions of one tenant under way. On PostgreSQL a second one keeps the server busy while this process prepares what comes next; SQLite has
 * one writer. On MySQL each statement is a round trip, and connections side by side are worth more: nothing is grouped there.
 */
const MAX_UNDER_WAY = { postgres: 2, sqlite: 1, mysql: undefined } as const;
/** Milliseconds after which a transaction does not count as under way: a row that is locked, a lost connection, keep no others waiting. */
const SLOW_MS = 250;

interface Waiting extends RunWrites {
  readonly size: number;
  resolve(isStored: boolean): void;
  reject(error: unknown): void;
}

/** Calls back later; nothing waits for it. */
type After = (ms: number, call: () => void) => unknown;

type Store = (tenantId: string, group: readonly RunWrites[]) => Promise<boolean>;

/**
 * A transaction costs a server (and SQLite's disk) more than what a step writes in it. So what one tenant has ready at one time, or while earlier
 * transactions are under way, goes into one, together; nothing waits while fewer are. One of them that does not match, or fails,
 * undoes all: then each is tried on its own.
 */
export function createWriteGroups(
  database: Pick<Database, 'forTenant' | 'family'>,
  after: After = (ms, call) => setTimeout(call, ms).unref(),
): WriteGroups {
  const store: Store = (tenantId, group) =>
    database.forTenant(tenantId).writeTogether(group.flatMap(({ writes }) => writes));
  const maxUnderWay = MAX_UNDER_WAY[database.family];
  if (maxUnderWay === undefined) return { write: (one) => store(one.tenantId, [one]) };
  // SQLite answers in the same turn of the event loop: for a caller that asks it again and again a tick would never come.
  const soon = database.family === 'sqlite' ? queueMicrotask : process.nextTick;
  const lanes = new Map<string, TenantWrites>();
  // What is stored together has the context of none of those who wait for it.
  const inOwnContext = AsyncLocalStorage.snapshot();
  return {
    write(one) {
      assertOutsideTransaction('a change of a workflow run');
      const { tenantId } = one;
      let lane = lanes.get(tenantId);
      if (lane === undefined) {
        lane = new TenantWrites({
          tenantId,
          store,
          maxUnderWay,
          after,
          soon,
          inOwnContext,
          isEmpty: () => lanes.delete(tenantId),
        });
        lanes.set(tenantId, lane);
      }
      return lane.write(one);
    },
  };
}

interface TenantWritesParts {
  readonly tenantId: string;
  readonly store: Store;
  readonly maxUnderWay: number;
  readonly after: After;
  readonly soon: (call: () => void) => void;
  readonly inOwnContext: (run: () => void) => void;
  /** Called when nothing is left. */
  readonly isEmpty: () => void;
}

/** What one tenant stores. */
class TenantWrites {
  readonly #parts: TenantWritesParts;
  readonly #waiting: Waiting[] = [];
  /** Transactions that count. */
  readonly #underWay = new Set<object>();
  #slow = 0;
  #isGoing = false;
  #isWatching = false;

  constructor(parts: TenantWritesParts) {
    this.#parts = parts;
  }

  write(one: RunWrites): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    this.#waiting.push({ ...one, size: sizeOfWrites(one.writes), resolve, reject });
    this.#go();
    return promise;
  }

  /** Not at once: what one answer of the database sets going is ready together. */
  #go(): void {
    if (this.#isGoing || this.#waiting.length === 0) return;
    if (!this.#hasRoom) {
      this.#watch();
      return;
    }
    this.#isGoing = true;
    const { soon, inOwnContext } = this.#parts;
    soon(() =>
      inOwnContext(() => {
        this.#isGoing = false;
        while (this.#waiting.length > 0 && this.#hasRoom) void this.#send();
      }),
    );
  }

  get #hasRoom(): boolean {
    return this.#underWay.size < this.#parts.maxUnderWay;
  }

  /** What is under way now and still is when the time is over counts no more. */
  #watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const watched = [...this.#underWay];
    this.#parts.after(SLOW_MS, () => {
      this.#isWatching = false;
      for (const transaction of watched) this.#slow += this.#underWay.delete(transaction) ? 1 : 0;
      this.#go();
    });
  }

  async #send(): Promise<void> {
    const group = takeGroup(this.#waiting);
    const transaction = {};
    this.#underWay.add(transaction);
    await (group.length === 1 ? this.#alone(group) : this.#together(group));
    if (!this.#underWay.delete(transaction)) this.#slow -= 1;
    if (this.#waiting.length > 0) this.#go();
    else if (this.#underWay.size + this.#slow === 0) this.#parts.isEmpty();
  }

  async #together(group: readonly Waiting[]): Promise<void> {
    // In one order everywhere, so that no two transactions wait for each other's runs.
    const { store, tenantId } = this.#parts;
    const sorted = [...group].sort((a, b) => (a.runId < b.runId ? -1 : 1));
    try {
      if (await store(tenantId, sorted)) {
        for (const { resolve } of group) resolve(true);
        return;
      }
    } catch (error) {
      // It may be stored. Whoever waits finds out by reading his run.
      if (isDatabaseUnavailable(error)) {
        for (const { reject } of group) reject(error);
        return;
      }
    }
    await this.#alone(group);
  }

  async #alone(group: readonly Waiting[]): Promise<void> {
    const { store, tenantId } = this.#parts;
    const each = async (one: Waiting) => {
      try {
        one.resolve(await store(tenantId, [one]));
      } catch (error) {
        one.reject(error);
      }
    };
    await Promise.all(group.map(each));
  }
}

/** Takes the oldest, as many as may go together. */
function takeGroup(waiting: Waiting[]): Waiting[] {
  let count = 0;
  let size = 0;
  for (const one of waiting.slice(0, MAX_RUNS)) {
    size += one.size;
    if (count > 0 && size > MAX_SIZE) break;
    count += 1;
  }
  return waiting.splice(0, count);
}

function sizeOfWrites(writes: readonly RowWrite[]): number {
  let size = 0;
  for (const write of writes) {
    if (write.kind === 'update') size += sizeOf(write.data);
    else for (const row of write.rows) size += sizeOf(row);
  }
  return size;
}
