import { ensureAcpToken } from './config/acp-token.ts';
import { ConfigurationError } from './config/configuration-error.ts';
import { processEnvironment } from './config/environment.ts';
import { type KernelSettings, readKernelSettings } from './config/kernel-settings.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { createLogger, type Logging } from './observability/logger.ts';
import { systemClock } from './services/clock.ts';
import { createIds } from './services/ids.ts';
import { firstChat } from './welcome.ts';

/** The process: configuration, start, signals. Exits with 1 when the start fails, with 0 after a clean stop. */
async function main(): Promise<void> {
  const env = processEnvironment();
  const settings = readSettings();
  const acpToken = await ensureAcpToken({
    configured: settings.acpToken,
    production: settings.production,
    dataDir: settings.dataDir,
    ids: createIds(systemClock),
  });
  const logging = createLogger({
    level: settings.logLevel,
    pretty: process.stdout.isTTY && !settings.production,
    secrets: acpToken.token === undefined ? [] : [acpToken.token],
  });
  const log = logging.logger;
  process.on('uncaughtException', (err) => crash(logging, err));
  process.on('unhandledRejection', (err) => crash(logging, err));

  const gateway = await startGateway({ settings, env, logging, acpToken: acpToken.token }).catch(
    async (err) => {
      log.fatal({ err }, 'the gateway could not be started');
      await logging.flush();
      process.stderr.write(`\nThe gateway could not be started: ${message(err)}\n`);
      process.exit(1);
    },
  );
  log.info({ url: gateway.url, ms: Math.round(performance.now()) }, 'ready');
  if (acpToken.token !== undefined && !settings.production) {
    process.stderr.write(firstChat(gateway.url, acpToken.token));
  }
  stopOnSignals(gateway, logging);
}

function readSettings(): KernelSettings {
  try {
    return readKernelSettings(processEnvironment());
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    process.stderr.write(`The configuration is not valid:\n${error.message}\n`);
    process.exit(1);
  }
}

/** The first signal stops cleanly; a second one ends at once. */
function stopOnSignals(gateway: Gateway, logging: Logging): void {
  let isStopping = false;
  const stop = async (signal: NodeJS.Signals) => {
    if (isStopping) process.exit(1);
    isStopping = true;
    logging.logger.info({ signal }, 'stopping: what is in flight finishes first');
    await gateway.stop();
    logging.logger.info('stopped');
    await logging.flush();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      stop(signal).catch((err: unknown) => crash(logging, err));
    });
  }
}

/** After an error that nobody expected the state is unknown: the supervisor starts a fresh process. */
function crash(logging: Logging, err: unknown): void {
  logging.logger.fatal({ err }, 'an error that nobody handled ends the process');
  logging.flushSync();
  process.exit(1);
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

await main();
