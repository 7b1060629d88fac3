import os from 'node:os';
import { endsWithin } from '../base/deadline.ts';
import type { Ids } from '../base/ids.ts';
import type { Database } from '../data/database.ts';
import type { Logger } from '../observability/logger.ts';
import type { PluginMetrics } from '../observability/plugin-metrics.ts';
import { type Redis, redisScript } from '../redis/redis.ts';
import { runPeriodically } from '../schedules/periodic.ts';
import {
  COMPARED,
  type ComparedSetting,
  differing,
  type Marks,
  marksOf,
  type SettingsToCompare,
} from './compared-settings.ts';
import { ReplicaRow } from './replica-table.ts';

/** What replicas are compared with. */
export interface ReplicasParts {
  /** With SQLite nothing is compared: processes on one file are on one machine. */
  readonly database: Pick<Database, 'family' | 'system' | 'now'>;
  readonly settings: SettingsToCompare;
  readonly redis: Pick<Redis, 'isUp' | 'run'> | undefined;
  readonly ids: Ids;
  readonly log: Logger;
  readonly metrics: PluginMetrics;
  /** Other times than the usual ones; for tests. */
  readonly times?: Partial<ReplicaTimes>;
}

/** How long things last, in milliseconds. */
interface ReplicaTimes {
  /** Between two looks. */
  readonly look: number;
  /** A replica without a sign of life for so long does not count. */
  readonly live: number;
  /** Of the end, which waits for what is under way, and to leave the table. */
  readonly close: number;
}

const TIMES: ReplicaTimes = { look: 30_000, live: 100_000, close: 500 };

/** Gives a Redis a name that stays as long as its data, and a day after the last replica. */
const IDENTIFY = redisScript(`
redis.call('set', KEYS[1], ARGV[1], 'nx')
redis.call('pexpire', KEYS[1], 86400000)
return redis.call('get', KEYS[1])`);

/**
 * Tells operators of replicas on this database whose settings differ where they have to be the same: in the log, when
 * two looks in a row have found it, and as a metric. Each replica says of its settings what `marksOf` makes of them, no
 * value. Nothing is refused: while a change goes from replica to replica, they do differ.
 */
export function compareReplicas(parts: ReplicasParts) {
  const { database, settings, redis, ids, log, metrics } = parts;
  const { look: every, live, close } = { ...TIMES, ...parts.times };
  const id = ids.uuid();
  const host = os.hostname().slice(0, 255);
  const differ = metrics.gauge({
    name: 'svc_replica_settings_differ',
    help: '1 where another replica on the same database has another value of a setting that has to be the same on all.',
    labels: ['setting'],
  });
  for (const setting of COMPARED) differ.set({ setting }, 0);
  if (database.family === 'sqlite') return { close: async () => {} };
  /** Found by the look before: a Redis that has lost its data has another name for one replica first. */
  let found: ReadonlySet<ComparedSetting> = new Set();
  let told = '';

  /** Undefined while it is not known. */
  async function redisName(): Promise<string | null | undefined> {
    if (redis === undefined) return null;
    if (!redis.isUp()) return undefined;
    const key = `${settings.services.deployment}:identity`;
    const name = await redis.run(IDENTIFY, [key], [id]).catch((err: unknown) => {
      log.debug({ err }, 'Redis could not be asked which one it is');
      return undefined;
    });
    return typeof name === 'string' ? name : undefined;
  }

  async function note(marks: Marks, seenAt: number): Promise<void> {
    const row = { host, settings: JSON.stringify(marks), seenAt };
    if ((await database.system().nativeUpdate(ReplicaRow, { id }, row)) > 0) return;
    await database.system().insert(ReplicaRow, { id, ...row });
  }

  /** The others that run. What else is in the table is of replicas that died, or of a clock that was ahead. */
  async function others(now: number) {
    const rows = await database.system().find(ReplicaRow, {}, { disableIdentityMap: true });
    const isLive = ({ seenAt }: { readonly seenAt: number }) => Math.abs(now - Number(seenAt)) < live;
    const gone = rows.filter((row) => !isLive(row)).map((row) => row.id);
    if (gone.length > 0) await database.system().nativeDelete(ReplicaRow, { id: { $in: gone } });
    return rows.filter((row) => row.id !== id && isLive(row));
  }

  async function look(): Promise<void> {
    const own = marksOf(settings, await redisName());
    const now = await database.now();
    await note(own, now);
    const hosts = new Map<ComparedSetting, Set<string>>();
    for (const other of await others(now)) {
      for (const setting of differing(own, JSON.parse(other.settings)))
        hosts.set(setting, (hosts.get(setting) ?? new Set()).add(other.host));
    }
    const lasting = [...hosts.keys()].filter((setting) => found.has(setting));
    found = new Set(hosts.keys());
    for (const setting of COMPARED) differ.set({ setting }, lasting.includes(setting) ? 1 : 0);
    tell(lasting, [...new Set(lasting.flatMap((setting) => [...(hosts.get(setting) ?? [])]))]);
  }

  /** Once for each change of what differs. */
  function tell(lasting: readonly ComparedSetting[], replicas: readonly string[]): void {
    const text = lasting.join();
    if (text === told) return;
    told = text;
    if (lasting.length === 0) log.info('the replicas have the same settings again');
    else
      log.warn(
        { settings: lasting, replicas },
        'another replica has other values of settings that have to be the same on all',
      );
  }

  const end = new AbortController();
  const periodic = { name: 'compare-replicas', milliseconds: every, task: look, immediately: true };
  const running = runPeriodically(periodic, end.signal, log);

  return {
    /** Leaves, so that nobody compares itself with a replica that has ended. Never rejects. */
    async close(): Promise<void> {
      const leave = async () => {
        await running.stop();
        await database.system().nativeDelete(ReplicaRow, { id });
      };
      await endsWithin(
        close,
        leave().catch((err: unknown) => log.debug({ err }, 'a replica did not leave')),
      );
    },
  };
}
