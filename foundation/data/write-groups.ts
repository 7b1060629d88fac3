import { AsyncLocalStorage } from 'node:async_hooks';
import { TransientMap, TransientSet } from '../base/transient.ts';
import { isDatabaseUnavailable } from './errors.ts';
import type { Family } from './family.ts';
import type { RowWrite } from './rows/row-writes.ts';
import { assertOutsideTransaction } from './transaction-guard.ts';

/** Writes that are stored whole or not at all. */
export interface OwnWrites {
  readonly tenantId: string;
  /** Whose they are (a run's id, a session's): those of one transaction are written in the order of their keys. */
  readonly key: string;
  readonly writes: readonly RowWrite[];
}

/** Stores writes; those of several callers together where that is cheaper. */
export interface WriteGroups {
  /** False, and nothing is stored, when an update matched another number of rows than it expects. */
  write(one: OwnWrites): Promise<boolean>;
}

/** Callers in one transaction at most: each of them waits for all. */
const MAX_TOGETHER = 32;
/** Characters of their values in one transaction, about; what is larger goes alone. */
const MAX_SIZE = 1024 * 1024;
/**
 * Transactions of one tenant under way. On PostgreSQL a second one keeps the server busy while this process prepares
 * what comes next; SQLite has one writer. On MySQL each statement is a round trip, and connections side by side are
 * worth more: nothing is grouped there.
 */
const MAX_UNDER_WAY = { postgres: 2, sqlite: 1, mysql: undefined } as const;
/**
 * Milliseconds after which a transaction does not count as under way: a row that is locked, a lost connection, keep no
 * others waiting.
 */
const SLOW_MS = 250;
/** Milliseconds between two commits to SQLite that have nothing to do with each other. */
const DISTANCE_MS = 3;

interface Waiting extends OwnWrites {
  readonly size: number;
  resolve(isStored: boolean): void;
  reject(error: unknown): void;
}

/** Time as groups need it. */
interface Times {
  /** Milliseconds on a monotonic clock. */
  now(): number;
  after(ms: number, call: () => void): unknown;
}

/** Does writes in one transaction, as `writeTogether` does. */
type Store = (tenantId: string, writes: readonly RowWrite[]) => Promise<boolean>;

/**
 * A transaction costs a server (and SQLite's disk) more than a few rows that are written in it. So what one tenant has
 * ready at one time, or while earlier transactions are under way, goes into one, together; nothing waits while fewer
 * are. One of them that does not match, or fails, undoes all: then each is tried on its own.
 */
export function createWriteGroups(
  family: Family,
  store: Store,
  times: Times = { now: () => performance.now(), after: (ms, call) => setTimeout(call, ms) },
): WriteGroups {
  const maxUnderWay = MAX_UNDER_WAY[family];
  if (maxUnderWay === undefined) return { write: ({ tenantId, writes }) => store(tenantId, writes) };
  const soon = family === 'sqlite' ? spaced(times) : process.nextTick;
  const lanes = new TransientMap<string, ReturnType<typeof createLane>>();
  // A shared transaction has the context of none of its callers.
  const inOwnContext = AsyncLocalStorage.snapshot();

  /** What one tenant stores. */
  function createLane(tenantId: string) {
    const waiting: Waiting[] = [];
    /** Transactions that count. */
    const underWay = new TransientSet<object>();
    let slow = 0;
    let isGoing = false;
    let isWatching = false;
    const hasRoom = () => underWay.size < maxUnderWay!;

    /** Not at once: what one answer of the database sets going is ready together. */
    function go(): void {
      const [first] = waiting;
      if (isGoing || first === undefined) return;
      if (!hasRoom()) {
        watch();
        return;
      }
      isGoing = true;
      const sendAll = () => {
        isGoing = false;
        while (waiting.length > 0 && hasRoom()) void send();
      };
      soon(() => inOwnContext(sendAll), first.key);
    }

    /** What is under way now and still is when the time is over counts no more. */
    function watch(): void {
      if (isWatching) return;
      isWatching = true;
      const watched = [...underWay];
      times.after(SLOW_MS, () => {
        isWatching = false;
        for (const transaction of watched) slow += underWay.delete(transaction) ? 1 : 0;
        go();
      });
    }

    async function send(): Promise<void> {
      const group = takeGroup(waiting);
      const transaction = {};
      underWay.add(transaction);
      await (group.length === 1 ? alone(group) : together(group));
      if (!underWay.delete(transaction)) slow -= 1;
      if (waiting.length > 0) go();
      else if (underWay.size + slow === 0) lanes.delete(tenantId);
    }

    async function together(group: readonly Waiting[]): Promise<void> {
      // In one order everywhere, so that no two transactions wait for each other's rows.
      const sorted = [...group].sort((a, b) => (a.key < b.key ? -1 : 1));
      const all = sorted.flatMap(({ writes }) => writes);
      try {
        if (await store(tenantId, all)) {
          for (const { resolve } of group) resolve(true);
          return;
        }
      } catch (error) {
        // The writes may be stored. A caller finds out by reading.
        if (isDatabaseUnavailable(error)) {
          for (const { reject } of group) reject(error);
          return;
        }
      }
      await alone(group);
    }

    async function alone(group: readonly Waiting[]): Promise<void> {
      const each = async ({ writes, resolve, reject }: Waiting) => {
        try {
          resolve(await store(tenantId, writes));
        } catch (error) {
          reject(error);
        }
      };
      await Promise.all(group.map(each));
    }

    return (one: OwnWrites): Promise<boolean> => {
      const { promise, resolve, reject } = Promise.withResolvers<boolean>();
      waiting.push({ ...one, size: sizeOfWrites(one.writes), resolve, reject });
      go();
      return promise;
    };
  }

  return {
    write(one) {
      assertOutsideTransaction('writes that share a transaction of their own');
      const lane = lanes.get(one.tenantId) ?? createLane(one.tenantId);
      lanes.set(one.tenantId, lane);
      return lane(one);
    },
  };
}

/**
 * SQLite works while nothing else does, and what it writes into its log at a commit is the same for one row and for
 * many. So while commits are frequent they have a distance, in which more of them come together; a commit whose first
 * key is that of the commit before does not wait. Calls back when those that are ready have joined; `key` is that of
 * the first.
 */
function spaced({ now, after }: Times): (call: () => void, key: string) => void {
  let lastAt = Number.NEGATIVE_INFINITY;
  let lastKey = '';
  return (call, key) => {
    const send = () => {
      lastAt = now();
      lastKey = key;
      call();
    };
    const wait = key === lastKey ? 0 : lastAt + DISTANCE_MS - now();
    // Everything that this turn of the event loop makes ready goes along.
    if (wait <= 0) setImmediate(send);
    else after(wait, send);
  };
}

/** Takes the oldest, as many as may go together. */
function takeGroup(waiting: Waiting[]): Waiting[] {
  let count = 0;
  let size = 0;
  for (const one of waiting.slice(0, MAX_TOGETHER)) {
    size += one.size;
    if (count > 0 && size > MAX_SIZE) break;
    count += 1;
  }
  return waiting.splice(0, count);
}

function sizeOfWrites(writes: readonly RowWrite[]): number {
  let size = 0;
  for (const write of writes) {
    for (const row of write.kind === 'insert' ? write.rows : write.kind === 'update' ? [write.data] : []) {
      for (const value of Object.values(row)) size += typeof value === 'string' ? value.length : 0;
    }
  }
  return size;
}
