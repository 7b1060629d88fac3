import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Clock } from '../../base/clock.ts';
import { within } from '../../base/deadline.ts';
import type { Database, Family } from '../../data/database.ts';
import { withRetries } from '../../data/retry.ts';

/** Milliseconds for one statement, with the wait for a connection: far below the leases. */
const ANSWER_MS = 4_000;
/** Attempts of a statement that lost a race against another. */
const RETRIES = 5;

/** Short statements for the locks, each a transaction of its own, and the words in which the families differ. */
export interface LockSql {
  readonly family: Family;
  /** Microseconds of the database's clock; of the machine's on SQLite, where they are one. */
  now(): RawBuilder<number>;
  /** The larger of the arguments. */
  greatest(...values: RawBuilder<unknown>[]): RawBuilder<number>;
  /**
   * Runs one statement, anew where it lost a race.
   *
   * @throws DeadlineError after 4 s; the statement may still be carried out then
   */
  run<Row = unknown>(statement: RawBuilder<Row>): Promise<{ rows: Row[]; changed: number }>;
}

export function createLockSql(database: Pick<Database, 'system' | 'family'>, clock: Clock): LockSql {
  const { family } = database;
  const greatest = sql.raw(family === 'sqlite' ? 'max' : 'greatest');
  const serverNow: Readonly<Record<Exclude<Family, 'sqlite'>, RawBuilder<number>>> = {
    postgres: sql`(extract(epoch from clock_timestamp()) * 1000000)::bigint`,
    // The time at which the statement began: while it waited for a row, leases only became shorter.
    mysql: sql`cast(unix_timestamp(now(6)) * 1000000 as signed)`,
  };
  return {
    family,
    now: () => (family === 'sqlite' ? sql`${clock.now() * 1_000}` : serverNow[family]),
    greatest: (...values) => sql`${greatest}(${sql.join(values)})`,
    async run(statement) {
      const attempt = async () => statement.execute(database.system().getKysely() as Kysely<unknown>);
      const result = await within(ANSWER_MS, 'a statement of the locks', withRetries(RETRIES, attempt));
      return { rows: result.rows, changed: Number(result.numAffectedRows ?? 0) };
    },
  };
}
