import path from 'node:path';
import { systemClock } from '../foundation/base/clock.ts';
import { messageOf } from '../foundation/base/failure.ts';
import { keepSmall } from '../foundation/base/idle-memory.ts';
import { createIds } from '../foundation/base/ids.ts';
import { type CrashRecord, openCrashRecord } from '../foundation/code/crash-record.ts';
import { innerFolderOf } from '../foundation/code/error-place.ts';
import { type AcpToken, ensureAcpToken, warnOfWeakToken } from '../foundation/config/acp-token.ts';
import { ConfigurationError } from '../foundation/config/configuration-error.ts';
import { type KernelSettings, readKernelSettings } from '../foundation/config/kernel-settings.ts';
import { warnOfMissing } from '../foundation/config/missing-paths.ts';
import { type Environment, processEnvironment } from '../foundation/config/read-config.ts';
import { createLogger, type Logging } from '../foundation/observability/logger.ts';
import { DEFAULT_TENANT_ID } from './access/identity.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { migrateGateway } from './migrate.ts';

/** `--migrate-only`: bring the tables to their newest form, and end. */
const MIGRATE_ONLY = '--migrate-only';

/** The process: configuration, start, signals. Exits with 1 when the start fails, with 0 after a clean stop. */
async function main(): Promise<void> {
  const env = processEnvironment();
  const args = process.argv.slice(2);
  const unknown = args.find((arg) => arg !== MIGRATE_ONLY);
  if (unknown !== undefined) {
    process.stderr.write(`The gateway knows ${MIGRATE_ONLY} and no other argument, not ${unknown}\n`);
    process.exit(1);
  }
  if (args.includes(MIGRATE_ONLY)) return migrate(env);
  const { settings, acpToken } = await readConfiguration(env);
  const logging = createLogger({
    level: settings.logLevel,
    pretty: process.stdout.isTTY && !settings.production,
    secrets: acpToken.token === undefined ? [] : [acpToken.token],
  });
  const log = logging.logger;
  warnOfMissing(env, log);
  const crashes = openCrashRecord(path.join(settings.dataDir, 'plugin-crashes.json'), systemClock);
  const running: Running = { settings, crashes, logging };
  process.on('uncaughtException', (err) => void crash(running, err));
  process.on('unhandledRejection', (err) => void crash(running, err));
  stopOnSignals(running);
  for (const [plugin, at] of crashes.leftOut())
    log.error({ plugin, at }, 'a plugin is left out: it ended the process three times; enable it again');

  const gateway = await startGateway({ settings, env, logging, crashes, acpToken: acpToken.token }).catch(
    async (err) => {
      log.fatal({ err }, 'the gateway could not be started');
      await logging.flush();
      process.stderr.write(`\nThe gateway could not be started: ${messageOf(err)}\n`);
      process.exit(1);
    },
  );
  running.gateway = gateway;
  keepSmall();
  log.info(
    {
      url: gateway.url,
      database: gateway.services.database.family,
      redis: settings.redisUrl !== undefined,
      plugins: gateway.host.slots.all.filter(({ current }) => current !== undefined).map(({ name }) => name),
      ms: Math.round(performance.now()),
    },
    'ready',
  );
  if (acpToken.token === undefined) await warnWithoutAdministrator(gateway, logging);
  else if (settings.production) warnOfWeakToken(acpToken.token, log);
  else if (gateway.serves(FIRST_CHAT_PATH)) {
    // Otherwise the lines of the start, which are written a moment later, would push it out of sight.
    await logging.flush();
    process.stderr.write(firstChat(gateway.url, acpToken));
  }
}

async function migrate(env: Environment): Promise<void> {
  const settings = await orExit(() => readKernelSettings(env));
  const logging = createLogger({
    level: settings.logLevel,
    pretty: process.stdout.isTTY && !settings.production,
  });
  let code = 0;
  try {
    const owners = await migrateGateway({ settings, log: logging.logger });
    logging.logger.info({ owners }, 'every table has its newest form');
  } catch (err) {
    code = 1;
    logging.logger.fatal({ err }, 'the tables could not be migrated');
    process.stderr.write(`\nThe tables could not be migrated: ${messageOf(err)}\n`);
  }
  await logging.flush();
  process.exit(code);
}

function readConfiguration(env: Environment): Promise<{ settings: KernelSettings; acpToken: AcpToken }> {
  return orExit(async () => {
    const settings = readKernelSettings(env);
    const acpToken = await ensureAcpToken({
      configured: settings.acpToken,
      production: settings.production,
      dataDir: settings.dataDir,
      ids: createIds(systemClock),
    });
    return { settings, acpToken };
  });
}

/** An invalid configuration is for the operator to set right: the message is printed, without a place in the code. */
async function orExit<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    process.stderr.write(`The configuration is not valid:\n${error.message}\n`);
    process.exit(1);
  }
}

/** The route that the first chat calls. */
const FIRST_CHAT_PATH = '/v1/chat/completions';

/**
 * What `npm start` prints outside production: a first chat to copy and paste. A token that the gateway made is shown;
 * one that the operator has set does not go to a terminal or a log.
 */
function firstChat(url: string, { source, token }: AcpToken): string {
  const authorization =
    source === 'environment' ? '"Authorization: Bearer $SVC_ACP_TOKEN"' : `'Authorization: Bearer ${token}'`;
  return `
The gateway answers at ${url}. A first chat, to copy and paste:

  curl -N ${url}${FIRST_CHAT_PATH} \\
    -H ${authorization} \\
    -H 'Content-Type: application/json' \\
    -d '{"model": "default", "stream": true, "messages": [{"role": "user", "content": "Hello! Who are you?"}]}'

`;
}

/** Without the static token and without an administrator's key no caller could ever make a first key. */
async function warnWithoutAdministrator(gateway: Gateway, logging: Logging): Promise<void> {
  if (await gateway.services.apiKeys.hasUsableAdmin(DEFAULT_TENANT_ID)) return;
  logging.logger.warn(
    'this gateway has no administrator: set SVC_ACP_TOKEN to make a first administrator key',
  );
}

/** The same signal again at once is one: a terminal signals the gateway, and npm passes its own on. */
const SAME_SIGNAL_MS = 500;

/** The first signal stops cleanly, also during the start: process 1 would ignore it. A later one ends at once. */
function stopOnSignals(running: Running): void {
  const { logging } = running;
  let first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined;
  const stop = async (signal: NodeJS.Signals) => {
    if (first !== undefined) {
      const isEcho = signal === first.signal && performance.now() - first.at < SAME_SIGNAL_MS;
      if (isEcho) return;
      process.exit(1);
    }
    first = { signal, at: performance.now() };
    logging.logger.info({ signal }, 'stopping: what is in flight finishes first');
    await running.gateway?.stop();
    logging.logger.info('stopped');
    await logging.flush();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      stop(signal).catch((err: unknown) => crash(running, err));
    });
  }
}

/** What is running when an unexpected error occurs. */
interface Running {
  readonly settings: KernelSettings;
  readonly crashes: CrashRecord;
  readonly logging: Logging;
  gateway?: Gateway;
  isEnding?: boolean;
}

/** Milliseconds beyond the drain time after which the process ends, whatever has not ended. */
const CRASH_GRACE = 15_000;

/**
 * After an unhandled error the state is unknown: the supervisor starts a fresh process. What is in flight finishes
 * first: it has most likely nothing to do with it. The plugin in whose code the error began is named and remembered.
 */
async function crash(running: Running, err: unknown): Promise<void> {
  const { settings, crashes, logging, gateway } = running;
  const plugin = gateway?.host.slots.culpritOf(err) ?? innerFolderOf(err, settings.pluginDirs);
  logging.logger.fatal({ err, ...(plugin && { plugin }) }, 'an error that was not handled ends the process');
  if (running.isEnding) return;
  running.isEnding = true;
  if (plugin !== undefined) crashes.note(plugin);
  const late = setTimeout(() => process.exit(1), settings.drainTimeout + CRASH_GRACE);
  await gateway?.stop().catch((failure) => logging.logger.error({ err: failure }, 'the stop has failed'));
  clearTimeout(late);
  logging.flushSync();
  process.exit(1);
}

await main();
