import { within } from '../base/deadline.ts';
import type { Logger, Logging } from './logger.ts';

/** A check that joins readiness. */
export interface Probe {
  readonly name: string;
  /** Resolves when healthy, throws when not. */
  readonly check: (signal: AbortSignal) => Promise<void>;
}

/** What readiness asks. */
export interface ReadinessParts extends Pick<Logging, 'withoutSecrets'> {
  /** True between the end of the start and the beginning of the stop. */
  isServing(): boolean;
  /** Throws when the database does not answer; has a deadline of its own. */
  pingDatabase(): Promise<void>;
  probes(): readonly Probe[];
  /** Plugins that should run and do not. */
  degraded(): readonly DegradedPlugin[];
  /** For the lines about a check that begins to fail, or is over it. */
  readonly log: Pick<Logger, 'warn' | 'info'>;
}

/** A plugin that should run and does not. */
export interface DegradedPlugin {
  readonly name: string;
  readonly state: string;
  readonly reason: string;
}

/** What came of a check; why it failed is for operators alone. */
interface CheckOutcome {
  readonly name: string;
  readonly state: 'ok' | 'error';
  readonly reason: string | null;
}

/** Whether the gateway can serve, and why not. */
export interface Readiness {
  readonly status: 'ready' | 'not_ready';
  readonly isServing: boolean;
  readonly database: CheckOutcome;
  readonly checks: readonly CheckOutcome[];
  readonly degraded: readonly DegradedPlugin[];
}

/** Milliseconds that a probe may take. */
const PROBE_TIMEOUT = 2_000;
/** Characters of a reason at most. */
const MAX_REASON = 500;

/**
 * Asks the database and every probe, side by side; takes as long as the slowest, which has a deadline. Reasons hold no
 * credential.
 *
 * Anybody may ask, as often as they like, and each check takes a connection of the database: calls that come during a
 * check share it. The log has a line when a check begins to fail, with why, since the answer to a public route has not,
 * and one when it succeeds again; none about a start and a stop.
 */
export function createReadiness(parts: ReadinessParts): () => Promise<Readiness> {
  let underWay: Promise<Readiness> | undefined;
  const failing = new Set<string>();
  return () => {
    underWay ??= check(parts, failing).finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}

/** @param failing names of the checks whose failure the log has, and not its end */
async function check(parts: ReadinessParts, failing: Set<string>): Promise<Readiness> {
  const shown = (reason: string) => parts.withoutSecrets(reason).slice(0, MAX_REASON);
  const probes = parts.probes();
  // One that has gone, with its plugin, begins anew when it is back.
  for (const name of failing)
    if (name !== 'database' && !probes.some((probe) => probe.name === name)) failing.delete(name);
  const [database, ...checks] = await Promise.all([
    outcome('database', logged('database', parts.pingDatabase(), parts, failing), shown),
    ...probes.map((probe) => outcome(probe.name, logged(probe.name, runProbe(probe), parts, failing), shown)),
  ]);
  const isServing = parts.isServing();
  const isReady = isServing && [database, ...checks].every(({ state }) => state === 'ok');
  return {
    status: isReady ? 'ready' : 'not_ready',
    isServing,
    database,
    checks,
    degraded: parts.degraded().map((plugin) => ({ ...plugin, reason: shown(plugin.reason) })),
  };
}

async function runProbe({ name, check }: Probe): Promise<void> {
  const abort = new AbortController();
  try {
    await within(PROBE_TIMEOUT, name, check(abort.signal));
  } finally {
    abort.abort();
  }
}

/** The same check, with its lines in the log. */
async function logged(
  name: string,
  work: Promise<void>,
  { log, isServing }: ReadinessParts,
  failing: Set<string>,
): Promise<void> {
  try {
    await work;
    if (failing.delete(name)) log.info({ check: name }, 'a check of readiness succeeds again');
  } catch (err) {
    if (isServing() && !failing.has(name)) {
      failing.add(name);
      log.warn({ check: name, err }, 'not ready: a check fails');
    }
    throw err;
  }
}

async function outcome(
  name: string,
  work: Promise<void>,
  shown: (reason: string) => string,
): Promise<CheckOutcome> {
  try {
    await work;
    return { name, state: 'ok', reason: null };
  } catch (failure) {
    // What tried several addresses has a code alone; code of plugins may throw anything.
    const { message, code } = Object(failure) as Partial<NodeJS.ErrnoException>;
    const reason = [failure, message, code].find((text) => typeof text === 'string' && text !== '');
    return { name, state: 'error', reason: shown((reason as string | undefined) ?? 'unknown') };
  }
}
