import { KernelErrors } from 'agent-gateway';
import type { Facts } from '../core/commands.ts';
import type { Runner, RunnerParts } from '../ports/runner.ts';
import { NO_OBSERVER } from '../ports/runner-observer.ts';
import { Admission } from './admission.ts';
import { close } from './closing.ts';
import { DatabaseClock } from './database-clock.ts';
import { Heartbeat } from './heartbeat.ts';
import { LiveRuns } from './live-runs.ts';
import { Pauses } from './pauses.ts';
import { Places } from './places.ts';
import type { RunnerCore } from './runner-core.ts';
import { start } from './starting.ts';
import { sweep } from './sweeping.ts';
import { WaitingList } from './waiting-list.ts';

/** Deliveries of one attempt: the first, and three more after it was interrupted by a crash (decisions 2.6). */
const MAX_DELIVERIES = 4;
/** Characters of JSON of the input, variables and outputs of one run together. */
export const MAX_CONTEXT = 8 * 1024 * 1024;

/** One process's share in the runs of an engine. It takes time, ids and all that it does outside from its parts alone. */
export function createRunner(parts: RunnerParts): Runner {
  const { store, timers, limits, log, newId, observer = NO_OBSERVER } = parts;
  const clock = new DatabaseClock(store, timers);
  const phase = { isClosing: false, isClosed: false };
  const heartbeat = new Heartbeat({
    ...{ store, timers, clock, newId, log, leaseMs: limits.leaseMs },
    ended: () => {
      observer.expired();
      for (const run of runs.all()) run.forsake();
    },
  });
  const transitionLimits: Facts['limits'] = {
    maxSteps: limits.maxSteps,
    maxDeliveries: MAX_DELIVERIES,
    maxContext: MAX_CONTEXT,
  };
  const core: RunnerCore = {
    ...{ ...parts, observer, clock, heartbeat, phase },
    places: new Places(limits.concurrency),
    waiting: new WaitingList(),
    pauses: new Pauses(timers),
    counts: { running: 0, begun: 0 },
    get claimant() {
      return phase.isClosing ? undefined : heartbeat.worker;
    },
    facts: () => ({ now: clock.now(), newId, limits: transitionLimits }),
    placesFreed: () => admission.placesFreed(),
    leftBehind: () => admission.leftBehind(),
  };
  const runs = new LiveRuns(core);
  const admission = new Admission(core, runs);
  let sweeping: Promise<void> | undefined;
  let closing: Promise<void> | undefined;

  return {
    async open() {
      await clock.renew();
      await heartbeat.open();
    },
    start: (run) => start(core, runs, run),
    async apply(place, occurrence) {
      if (phase.isClosed) throw KernelErrors.draining();
      return runs.of(place).ask(occurrence);
    },
    look: (place) => admission.look(place),
    isRunningHere: (place) => runs.get(place)?.isRunning ?? false,
    changed: (place) => runs.get(place)?.refresh(),
    sweep(signal) {
      sweeping ??= sweep(core, runs, admission, signal).finally(() => {
        sweeping = undefined;
      });
      return sweeping;
    },
    close(signal) {
      closing ??= close(core, runs, signal);
      return closing;
    },
    get running() {
      return core.counts.running;
    },
  };
}
