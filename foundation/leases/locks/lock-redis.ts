import type { Redis, RedisOptions } from 'ioredis';
import type { Ids } from '../../base/ids.ts';
import type { Logger } from '../../observability/logger.ts';
import { RELEASE, RENEW, TAKE } from './redis-scripts.ts';

/** The connection over which locks are taken in Redis. */
export interface LockRedis {
  /**
   * Which data this Redis has: the run of the server process and the mark in its data. It changes when the server was
   * started anew, when another server took its place, and when the data was emptied: then locks may be missing in it.
   * `undefined` while Redis cannot be used.
   */
  dataset(): string | undefined;
  /** Runs a script on the data that `dataset` names. Rejects within a second when Redis fails. */
  run(script: LockScript, key: string, args: readonly (string | number)[]): Promise<[number, string]>;
  /** Calls the listener whenever `dataset` has become another one. */
  onChange(listener: () => void): void;
  /** Resolves when it is known for the first time whether Redis can be used. */
  readonly known: Promise<void>;
  close(): void;
}

export type LockScript = 'lockTake' | 'lockRenew' | 'lockRelease';

/** What the connection needs. */
export interface LockRedisOptions {
  /** Says where Redis is; a connection of its own is opened with the same options. */
  readonly redis: Redis;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Start of all keys. */
  readonly prefix: string;
}

/** Milliseconds for an answer, for a connection, and for its handshake. */
const ANSWER_MS = 1_000;
/** Milliseconds for which Redis is left alone after it refused (read-only replica, out of memory, no permission). */
const REFUSAL_PAUSE_MS = 1_000;
const SCRIPT = { numberOfKeys: 4 };
const SCRIPTS: Readonly<Record<LockScript, { lua: string; numberOfKeys: number }>> = {
  lockTake: { ...SCRIPT, lua: TAKE },
  lockRenew: { ...SCRIPT, lua: RENEW },
  lockRelease: { ...SCRIPT, lua: RELEASE },
};

type Scripts = Readonly<Record<LockScript, (...args: (string | number)[]) => Promise<[number, string]>>>;

/**
 * Opens the connection. It queues nothing and repeats nothing: without a ready connection a command fails at once, and one
 * without an answer for a second loses the connection, which is made anew in the background. Each new connection
 * is used after it is known which data it leads to.
 */
export function openLockRedis({ redis, ids, log, prefix }: LockRedisOptions): LockRedis {
  const connection = redis.duplicate<RedisOptions>({
    lazyConnect: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    socketTimeout: ANSWER_MS,
    connectTimeout: ANSWER_MS,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 5), 1_000),
    scripts: SCRIPTS,
  });
  const markKey = `{${prefix}}:mark`;
  const known = Promise.withResolvers<void>();
  const listeners: (() => void)[] = [];
  let isClosed = false;
  let isFailing = false;
  let lastError: Error | undefined;
  let pause: NodeJS.Timeout | undefined;
  /** Counts the questions for the data: what an older one finds out is no longer true. */
  let question = 0;
  let current: { readonly run: string; readonly mark: string } | undefined;

  connection.on('error', (error: Error) => {
    lastError = error;
  });
  connection.on('close', () => failed(lastError));
  connection.on('ready', identify);

  function failed(reason: unknown): void {
    question += 1;
    changeTo(undefined);
    known.resolve();
    if (isFailing || isClosed) return;
    isFailing = true;
    log.warn({ err: reason }, 'Redis fails: locks are taken in the database until it is back');
  }

  function changeTo(next: typeof current): void {
    const before = dataset();
    current = next;
    if (dataset() !== before) for (const listener of listeners) listener();
  }

  const dataset = () => (current === undefined ? undefined : `${current.run}:${current.mark}`);

  function identify(): void {
    changeTo(undefined);
    clearTimeout(pause);
    question += 1;
    const asked = question;
    (async () => {
      const found = { run: await runId(), mark: await mark() };
      if (asked !== question || isClosed || connection.status !== 'ready') return;
      lastError = undefined;
      if (isFailing) log.info('Redis is back: locks use it again');
      isFailing = false;
      changeTo(found);
      known.resolve();
    })().catch((reason: unknown) => {
      if (asked === question) noteFailure(reason);
    });
  }

  /** Differs for every start of a server and for every server. */
  async function runId(): Promise<string> {
    const info = await answer(connection.info('server'));
    const found = /^run_id:(\S+)/m.exec(info)?.[1];
    if (found === undefined)
      throw new Error('Redis does not say which run of the server this is (INFO server)');
    return found;
  }

  async function mark(): Promise<string> {
    await answer(connection.set(markKey, ids.opaque(), 'NX'));
    return (await answer(connection.get(markKey))) ?? '';
  }

  function noteFailure(reason: unknown): void {
    failed(reason);
    if (isClosed || connection.status !== 'ready') return;
    if (reason instanceof Error && reason.name === 'ReplyError') {
      clearTimeout(pause);
      // A new connection may lead to another server, where this one has become a replica.
      pause = setTimeout(() => connection.disconnect(true), REFUSAL_PAUSE_MS);
    } else {
      connection.disconnect(true);
    }
  }

  return {
    dataset,
    known: known.promise,
    onChange: (listener) => listeners.push(listener),

    async run(script, key, args) {
      const asked = current;
      if (asked === undefined) throw new Error('Redis cannot be used for locks now');
      const keys = [
        markKey,
        `{${prefix}}:state:${key}`,
        `{${prefix}}:line:${key}`,
        `{${prefix}}:places:${key}`,
      ];
      let reply: [number, string];
      try {
        reply = await answer((connection as unknown as Scripts)[script](...keys, asked.mark, ...args));
      } catch (reason) {
        if (current === asked) noteFailure(reason);
        throw reason;
      }
      if (reply[0] !== -1) return reply;
      const reason = new Error('The data of Redis was emptied or exchanged');
      if (current === asked) {
        failed(reason);
        identify();
      }
      throw reason;
    },

    close() {
      isClosed = true;
      clearTimeout(pause);
      changeTo(undefined);
      connection.disconnect();
    },
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
