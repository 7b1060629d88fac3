import { type RawBuilder, sql } from 'kysely';
import type { Clock } from '../../base/clock.ts';
import { coalesced } from '../../base/coalesce.ts';
import type { Logger } from '../../observability/logger.ts';
import type { LockSql } from './lock-sql.ts';
import { DELEGATION_TIMES, type DelegationTimes, Knowledge } from './reading.ts';

/** What this process wants of the delegation at a beat. */
export interface DelegationWish {
  /** True when it has, or may take, locks that are not in Redis. */
  readonly suspend: boolean;
  /** The data of Redis that it can reach. */
  readonly dataset: string | undefined;
}

/** The row in the database that says which Redis may grant locks, and whether it may do so alone: see README.md. */
export interface Delegation {
  readonly knowledge: Knowledge;
  /** Writes what this process wants and reads the row; what is wished now is heeded. Rejects when the database is away. */
  beat(): Promise<void>;
  /** Beats soon when the suspension may end soon. */
  prolong(): void;
  /** Beats now and from now on. Failures are logged, once for each outage. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** What the delegation needs. */
export interface DelegationParts {
  readonly db: LockSql;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly wish: () => DelegationWish;
  /** Called after each reading. */
  readonly learned: () => void;
  /** False where no Redis is configured: a delegation of former times is ended then. */
  readonly hasRedis: boolean;
  readonly times?: DelegationTimes;
}

interface Row {
  readonly dataset: string;
  readonly since: unknown;
  readonly until: unknown;
  readonly now: unknown;
}

export function createDelegation(parts: DelegationParts): Delegation {
  const { db, clock, log, wish, learned, hasRedis, times = DELEGATION_TIMES } = parts;
  const knowledge = new Knowledge(times);
  const micros = (milliseconds: number) => sql`${milliseconds * 1_000}`;
  const beat = coalesced(beatOnce);
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  let isFailing = false;
  let beats: Promise<void> = Promise.resolve();

  async function beatOnce(): Promise<void> {
    // What is wished depends on what the row says.
    if (knowledge.dataset === undefined) await read();
    const { suspend, dataset } = wish();
    if (suspend) await suspendNow();
    await read();
    const now = clock.monotonic();
    if (knowledge.isDatabaseAlone(now) && dataset !== undefined && dataset !== knowledge.dataset) {
      await delegateTo(dataset, times.settle);
      await read();
    } else if (!hasRedis && knowledge.dataset !== '') {
      await delegateTo('', times.forget);
    }
    learned();
  }

  /**
   * `suspended_since` first: MySQL's later assignments see the earlier ones. Where nothing was ever delegated, a suspension
   * is as good as one that began long ago.
   */
  const suspension = (): RawBuilder<unknown> => sql`
    suspended_since = case when dataset = '' then 0
      when suspended_until <= ${db.now()} then ${db.now()} else suspended_since end,
    suspended_until = ${db.greatest(sql`suspended_until`, sql`${db.now()} + ${micros(times.suspend)}`)}`;

  const suspendNow = () => db.run(sql`update kernel_lock_delegation set ${suspension()} where id = 'redis'`);

  /**
   * Only while no lock lies in Redis alone. The suspension begins its time anew, so that every process has read of the other
   * data before that may grant alone.
   */
  async function delegateTo(dataset: string, age: number): Promise<void> {
    const hasSettled = sql`suspended_since <= ${db.now()} - ${micros(age)}`;
    await db.run(sql`update kernel_lock_delegation set ${suspension()}, dataset = ${dataset}
      where id = 'redis' and dataset <> ${dataset} and suspended_until > ${db.now()} and ${hasSettled}`);
  }

  async function read(): Promise<void> {
    const askedAt = clock.monotonic();
    const { rows } = await db.run(sql<Row>`select dataset, suspended_since as since, suspended_until as until,
      ${db.now()} as now from kernel_lock_delegation where id = 'redis'`);
    const [row] = rows;
    if (row === undefined) throw new Error('The row of kernel_lock_delegation is gone');
    const [now, since, until] = [row.now, row.since, row.until].map(Number) as [number, number, number];
    knowledge.learn({
      askedAt,
      answeredAt: clock.monotonic(),
      dataset: row.dataset,
      suspendedFor: Math.max(0, (until - now) / 1_000),
      suspendedSince: (now - since) / 1_000,
    });
  }

  async function beatAndLog(): Promise<void> {
    try {
      await beat();
      if (isFailing) log.info('the database answers again: locks can be taken');
      isFailing = false;
    } catch (err) {
      if (!isFailing && !isClosed) {
        log.warn({ err }, 'the database does not answer: locks cannot be taken, and held ones will be lost');
      }
      isFailing = true;
    }
    if (isClosed) return;
    timer = setTimeout(() => {
      beats = beatAndLog();
    }, times.beat);
    timer.unref();
  }

  return {
    knowledge,
    beat,
    prolong() {
      if (knowledge.suspendedUntil() > clock.monotonic() + times.suspend / 2) return;
      beat().catch(() => {}); // the regular beat fails as well, and logs it
    },
    start: beatAndLog,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await beats;
    },
  };
}
