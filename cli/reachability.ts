import { access, constants, stat } from 'node:fs/promises';
import path from 'node:path';
import { systemClock } from '../foundation/base/clock.ts';
import { endsWithin, within } from '../foundation/base/deadline.ts';
import { GatewayError } from '../foundation/base/gateway-error.ts';
import { createIds } from '../foundation/base/ids.ts';
import type { KernelSettings } from '../foundation/config/kernel-settings.ts';
import { type Registration, reachDatabase } from '../foundation/data/database.ts';
import { openObjects } from '../foundation/objects/open-objects.ts';
import { createLogger, type Logger } from '../foundation/observability/logger.ts';
import { openRedis } from '../foundation/redis/open-redis.ts';
import type { Redis } from '../foundation/redis/redis.ts';
import type { Finding } from './finding.ts';

/** Milliseconds that each of them has. */
const DEADLINE = 10_000;
/** Milliseconds that Redis has beyond those in which a gateway takes it for away. */
const SECOND_CHANCE = 3_000;

const log: Logger = createLogger({ level: 'silent', destination: { write: () => {} } }).logger;
const common = { clock: systemClock, ids: createIds(systemClock), log };

/**
 * Whether database, Redis, object store and the folders on this machine can be used. All are asked at one time, each
 * for ten seconds at most.
 *
 * @param registrations what a start would register with the database, which must not be newer
 */
export function reachable(
  settings: KernelSettings,
  registrations: readonly Registration[],
): Promise<readonly Finding[]> {
  const { database, dataDir, redisUrl, services } = settings;
  return Promise.all([
    found('database', () => reachTheDatabase(database, registrations)),
    found('redis', async () => (redisUrl === undefined ? 'not configured' : reachRedis(settings, redisUrl))),
    found('objects', () => reachObjects(services.objectStore, database.driver !== 'sqlite')),
    found('data folder', () => writable(dataDir)),
  ]);
}

async function found(part: string, look: () => Promise<string>): Promise<Finding> {
  try {
    return { part, state: 'ok', lines: [await within(DEADLINE, `asking the ${part}`, look())] };
  } catch (error) {
    return { part, state: 'wrong', lines: [reason(error)] };
  }
}

/** What stands behind an error that was made for callers is what an operator wants to know. */
function reason(error: unknown): string {
  const { message } = error as Error;
  const { cause } = error as Error;
  return error instanceof GatewayError && cause instanceof Error
    ? `${message}: ${cause.message || cause.name}`
    : message;
}

/**
 * A database of SQLite: its file, or the folder in which it will be made. @throws Error saying why it cannot be used
 */
export async function reachSqlite(
  file: string,
  registrations: readonly Registration[] = [],
): Promise<string> {
  if (!(await isThere(file))) return `sqlite: ${file} will be made in ${await writable(path.dirname(file))}`;
  await reachDatabase({ driver: 'sqlite', file, ...common }, registrations);
  return `sqlite: ${file}`;
}

async function reachTheDatabase(
  database: KernelSettings['database'],
  registrations: readonly Registration[],
): Promise<string> {
  if (database.driver === 'sqlite') return reachSqlite(database.file, registrations);
  await reachDatabase({ ...database, ...common }, registrations);
  return `${database.driver} at ${hostOf(database.url)}`;
}

async function reachRedis({ services }: KernelSettings, url: string): Promise<string> {
  let refusal: unknown;
  const heard = {
    info: () => {},
    warn: ({ err }: { err?: unknown }) => {
      refusal = err;
    },
  } as unknown as Logger;
  const redis = await openRedis({ ...common, url, deployment: services.deployment, log: heard });
  const isUp = await comesUp(redis);
  redis.close();
  if (!isUp)
    throw new Error(
      `Redis does not answer at ${hostOf(url)}: ${(refusal as Error | undefined)?.message || 'no answer'}`,
    );
  return `answers at ${hostOf(url)}`;
}

/** A process that is busy loading what the others need may miss the first answer. */
async function comesUp(redis: Redis): Promise<boolean> {
  const up = Promise.withResolvers<void>();
  const unfollow = redis.onChange((isUp) => {
    if (isUp) up.resolve();
  });
  if (!redis.isUp()) await endsWithin(SECOND_CHANCE, up.promise);
  unfollow();
  return redis.isUp();
}

/** @param mayHaveReplicas whether other machines can use the same database */
async function reachObjects(
  url: KernelSettings['services']['objectStore'],
  mayHaveReplicas: boolean,
): Promise<string> {
  if (url.form === 'none') return 'not configured';
  if (url.form === 'files') {
    const hint = mayHaveReplicas && url.isDefault === true ? ', which all replicas have to share' : '';
    return `files in ${await writable(url.folder)}${hint}`;
  }
  // No plugin runs here, so its store cannot be asked.
  if (url.form === 'plugin') return `${url.name}, not asked: it comes with its plugin`;
  const objects = await openObjects({ ...common, url });
  try {
    await objects.check(AbortSignal.timeout(DEADLINE));
  } finally {
    await objects.close();
  }
  return `bucket ${url.bucket}`;
}

/** Whether the folder can be written, or made: the nearest one that is there decides. */
async function writable(folder: string): Promise<string> {
  let nearest = path.resolve(folder);
  while (!(await isThere(nearest))) nearest = path.dirname(nearest);
  if (!(await stat(nearest)).isDirectory())
    throw new Error(`${folder} cannot be used: ${nearest} is no folder`);
  try {
    await access(nearest, constants.W_OK | constants.X_OK);
  } catch {
    throw new Error(
      `${folder} cannot be written${nearest === path.resolve(folder) ? '' : `, since ${nearest} cannot`}`,
    );
  }
  return folder;
}

async function isThere(name: string): Promise<boolean> {
  try {
    await stat(name);
    return true;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code!)) return false;
    throw error;
  }
}

/** `host:port`, without user, password and whatever else the URL holds. */
function hostOf(url: string): string {
  return URL.parse(url)?.host ?? 'an address that is no URL';
}
