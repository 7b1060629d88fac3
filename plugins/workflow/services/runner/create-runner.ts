import { KernelErrors } from 'agent-gateway';
import { startRun } from '../core/advance.ts';
import type { Facts } from '../core/occurrence.ts';
import type { Creation } from '../ports/run-store.ts';
import { NO_OBSERVER } from '../ports/runner-observer.ts';
import { Admission, sweep } from './admission.ts';
import { FairSlots, WaitingRuns } from './fair-slots.ts';
import { type LiveRun, LiveRuns } from './live-run.ts';
import { PendingReply } from './mailbox.ts';
import { growing, Pauses } from './retry-state.ts';
import type { NewRun, Runner, RunnerCore, RunnerParts } from './runner.ts';
import { DatabaseClock, WorkerLease } from './worker-lease.ts';

/** Deliveries of one attempt: the first, and three more after it was interrupted by a crash (decisions 2.6). */
const MAX_DELIVERIES = 4;
/** Characters of JSON of the input, variables and outputs of one run together. */
export const MAX_CONTEXT = 8 * 1024 * 1024;

/** One process's share in the runs of an engine. It takes time, ids and all that it does outside from its parts alone. */
export function createRunner(parts: RunnerParts): Runner {
  const { store, timers, limits, log, newId, observer = NO_OBSERVER } = parts;
  const clock = new DatabaseClock(store, timers);
  const phase = { isClosing: false, isClosed: false };
  const heartbeat = new WorkerLease({
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
    ...{ ...parts, observer, clock, lease, phase },
    slots: new FairSlots(limits.concurrency),
    waiting: new WaitingRuns(),
    pauses: new Pauses(timers),
    counts: { running: 0, begun: 0 },
    get claimant() {
      return phase.isClosing ? undefined : heartbeat.worker;
    },
    facts: () => ({ now: clock.now(), newId, limits: transitionLimits }),
    slotsFreed: () => admission.placesFreed(),
    noteBacklog: () => admission.leftBehind(),
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
    poll: (place) => admission.look(place),
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

type Started = Awaited<ReturnType<Runner['start']>>;

/** Milliseconds between tries to store a new run. */
const PAUSE = { first: 50, most: 1_000 };

/** Stores a new run with the steps that we have room for claimed in it, and carries it on. See `Runner.start`. */
async function start(core: RunnerCore, runs: LiveRuns, run: NewRun): Promise<Started> {
  if (core.phase.isClosed) throw KernelErrors.draining();
  const { idempotency, ...origin } = run;
  const graph = await core.graphs.get(run.tenantId, run.versionId);
  const facts = core.facts();
  const { claimant, slots, waiting } = core;
  const room = claimant === undefined ? 0 : slots.roomFor(run.tenantId, waiting.tenants());
  const by = claimant === undefined || room === 0 ? undefined : { worker: claimant, room };
  const id = facts.newId();
  const transition = startRun(graph, { ...origin, id }, facts, by);
  const { state, events } = transition;
  const claimed = [...state.steps.values()].filter(({ status }) => status === 'running').length;
  slots.take(run.tenantId, claimed);
  const live = runs.of({ tenantId: run.tenantId, runId: id });
  live.opening(claimed);
  const asker = new PendingReply<Started>(core.timers);
  const creation = { state, events, sinks: core.sinksOf(run.tenantId), idempotency };
  void create(core, creation, asker, live, () => live.opened(graph, transition));
  return asker.answer;
}

/** Tries until it is stored, or nobody waits for it any more. */
async function create(
  core: RunnerCore,
  creation: Creation,
  asker: PendingReply<Started>,
  live: LiveRun,
  opened: () => void,
): Promise<void> {
  const { store, pauses, phase } = core;
  const { state } = creation;
  for (let failures = 1; ; failures += 1) {
    try {
      const result = await store.create(creation);
      if (typeof result === 'object' && result.runId !== state.id) {
        live.notOpened();
        return asker.resolve({ existing: result });
      }
      // By a try that failed as it seemed: others may have changed it since.
      if (result === 'created') opened();
      else live.openedInDoubt();
      return asker.resolve({ state });
    } catch (error) {
      core.observer.committed('unknown');
      asker.reason = error;
      if (!asker.isSettled && !phase.isClosed) {
        await pauses.pause(growing(failures, PAUSE.first, PAUSE.most));
      }
      if (!asker.isSettled && !phase.isClosed) continue;
      // It may be stored all the same: then what was claimed is ours to do.
      live.openedInDoubt();
      return asker.reject(error);
    }
  }
}

/** Milliseconds in which what is in hand is given back, and then the worker signed off: a database that is away must not hold up the stop. */
const HAND_OVER_MS = 2_000;
const SIGN_OFF_MS = 500;

/** Ends the share of this process. See `Runner.close`. */
async function close(core: RunnerCore, runs: LiveRuns, signal: AbortSignal): Promise<void> {
  const { phase, waiting, lease, pauses, store, log } = core;
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
  const worker = lease.stop();
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
