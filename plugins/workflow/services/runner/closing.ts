import type { LiveRuns } from './live-runs.ts';
import type { RunnerCore } from './runner-core.ts';

/** Milliseconds in which what is in hand is given back, and then the worker signed off: a database that is away must not hold up the stop. */
const HAND_OVER_MS = 2_000;
const SIGN_OFF_MS = 500;

/** Ends the share of this process. See `Runner.close`. */
export async function close(core: RunnerCore, runs: LiveRuns, signal: AbortSignal): Promise<void> {
  const { phase, waiting, heartbeat, pauses, store, log } = core;
  phase.isClosing = true;
  waiting.clear();
  const ended = runs.whenEmpty();
  await Promise.race([ended, aborted(signal)]);
  for (const run of runs.all()) run.release();
  // What cannot be given back goes to others when our lease is over.
  await Promise.race([runs.whenEmpty(), pauses.pause(HAND_OVER_MS)]);
  phase.isClosed = true;
  pauses.endAll();
  for (const run of runs.all()) run.giveUp();
  const worker = heartbeat.stop();
  if (worker === undefined) return;
  try {
    await inTime(core, store.leave(worker));
  } catch (error) {
    log.warn(
      { err: error, worker },
      'the worker could not be signed off; it is forgotten when its lease is over',
    );
  }
}

function inTime({ timers }: RunnerCore, work: Promise<void>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const cancel = timers.after(SIGN_OFF_MS, () => reject(new Error('The database does not answer in time')));
  work.then(resolve, reject);
  return promise.finally(cancel);
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
