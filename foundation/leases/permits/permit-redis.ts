import type { Redis, RedisOptions } from 'ioredis';
import { FIND, RELEASE, RENEW, REVOKE, TAKE } from './redis-scripts.ts';

/** The connection over which permits are taken in Redis. */
export interface PermitRedis {
  /** Runs a script on the keys of a bound. Rejects within a second when Redis fails. */
  run(script: PermitScript, key: string, args: readonly (string | number)[]): Promise<string>;
  close(): void;
}

export type PermitScript = 'permitTake' | 'permitRenew' | 'permitRelease' | 'permitRevoke' | 'permitFind';

/** Milliseconds for an answer, and for a connection. */
const ANSWER_MS = 1_000;
const SCRIPT = { numberOfKeys: 2 };
const SCRIPTS: Readonly<Record<PermitScript, { lua: string; numberOfKeys: number }>> = {
  permitTake: { ...SCRIPT, lua: TAKE },
  permitRenew: { ...SCRIPT, lua: RENEW },
  permitRelease: { ...SCRIPT, lua: RELEASE },
  permitRevoke: { ...SCRIPT, lua: REVOKE },
  permitFind: { ...SCRIPT, lua: FIND },
};

type Scripts = Readonly<Record<PermitScript, (...args: (string | number)[]) => Promise<string>>>;

/**
 * Opens a connection of its own with the options of `redis`. It queues nothing and repeats nothing: without a ready connection a command
 * fails at once, and one without an answer for a second loses the connection, which is made anew in the background.
 *
 * @param prefix start of all keys
 */
export async function openPermitRedis(redis: Redis, prefix: string): Promise<PermitRedis> {
  const connection = redis.duplicate<RedisOptions>({
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    socketTimeout: ANSWER_MS,
    connectTimeout: ANSWER_MS,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 5), 1_000),
    scripts: SCRIPTS,
  });
  connection.on('error', () => {}); // who asks is told by the rejection
  // Permits that are asked for at once should find Redis where there is one; a Redis that is away is used when it comes.
  await connection.connect().catch(() => {});
  return {
    run: (script, key, args) => {
      const tag = `{${prefix}:${key}}`;
      return answer((connection as unknown as Scripts)[script](`${tag}:until`, `${tag}:holders`, ...args));
    },
    close: () => connection.disconnect(),
  };
}

/** The answer, or a rejection once it is overdue. */
function answer<T>(coming: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const overdue = () => reject(new Error(`Redis did not answer within ${ANSWER_MS} ms`));
    // After a pause of this very process timers fire before the sockets are read: look there before giving up.
    const timer = setTimeout(() => setImmediate(overdue), ANSWER_MS);
    coming.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
