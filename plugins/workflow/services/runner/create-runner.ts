import {
  backoffDelay,
  isDatabaseFull,
  KernelErrors,
  orAborted,
  throttledLog,
  throttledLogs,
} from 'agent-gateway';
import { startRun } from '../core/advance.ts';
import type { Facts } from '../core/commands.ts';
import type { Creation } from '../ports/run-store.ts';
import { Admission } from './admission.ts';
import { FairSlots, WaitingRuns } from './fair-slots.ts';
import type { LiveRun } from './live-run.ts';
import { LiveRuns } from './live-runs.ts';
import { PendingReply } from './mailbox.ts';
import { Pauses } from './pauses.ts';
import { RETRIED } from './retry-state.ts';
import type { NewRun, Runner, RunnerParts, Started } from './runner.ts';
import type { RunnerCore } from './runner-core.ts';
import { WorkerLease } from './worker-lease.ts';

/** Deliveries of one attempt: the first, and three more after it was interrupted by a crash (decisions 2.6). */
const MAX_DELIVERIES = 4;
/** Characters of JSON of the input, variables and outputs of one run together. */
export const MAX_CONTEXT = 8 * 1024 * 1024;
/** Milliseconds between tries to store a new run. */
const CREATION_PAUSE = { first: 50, most: 1_000 };
/**
 * Milliseconds in which steps are given back at the end, and then the worker signed off: a database that is away must
 * not hold up the stop.
 */
const HAND_OVER_MS = 2_000;
const SIGN_OFF_MS = 500;

/** One process's share in the runs of an engine. It gets time, ids and all outside effects only through its parts. */
export function createRunner(parts: RunnerParts): Runner {
  const { clock, timers, limits, endsOnFailure = false, newId, metrics } = parts;
  const phase = { isClosing: false, isClosed: false };
  const lease = new WorkerLease(parts, () => {
    metrics.expired();
    for (const run of runs.all()) run.leaseEnded();
  });
  const transitionLimits: Facts['limits'] = {
    maxSteps: limits.maxSteps,
    maxDeliveries: MAX_DELIVERIES,
    maxContext: MAX_CONTEXT,
  };
  const waiting = new WaitingRuns();
  const databaseFailed = throttledLog<object>(timers, (fields, count) =>
    parts.log.warn({ ...fields, count }, RETRIED),
  );
  const stepFailed = throttledLogs<object>(timers, (_, fields, count) =>
    parts.log.warn({ ...fields, count }, 'a step of a workflow failed'),
  );
  const core: RunnerCore = {
    ...parts,
    lease,
    phase,
    waiting,
    slots: new FairSlots(limits.concurrency, waiting),
    pauses: new Pauses(timers),
    counts: { running: 0 },
    get claimant() {
      return phase.isClosing ? undefined : lease.worker;
    },
    databaseFailed,
    stepFailed,
    facts: () => ({ now: clock.now(), newId, endsOnFailure, limits: transitionLimits }),
    slotsFreed: () => admission.fill(),
    noteBacklog: () => admission.noteBacklog(),
  };
  const runs = new LiveRuns(core);
  const admission = new Admission(core, runs);
  let handingOver: Promise<void> | undefined;
  let closing: Promise<void> | undefined;
  const handOverOnce = (signal: AbortSignal) => {
    handingOver ??= handOver(core, runs, signal);
    return handingOver;
  };

  return {
    open: () => lease.join(),
    start: (run) => start(core, runs, run),
    async apply(place, command) {
      if (phase.isClosed) throw KernelErrors.draining();
      return runs.of(place).ask(command);
    },
    poll: (place) => admission.poll(place),
    isRunningHere: (place) => runs.get(place)?.isRunning ?? false,
    changed: (place) => runs.get(place)?.refresh(),
    sweep: (signal) => admission.sweep(signal),
    handOver: handOverOnce,
    close(signal) {
      closing ??= handOverOnce(signal).then(() => end(core, runs));
      return closing;
    },
    get running() {
      return core.counts.running;
    },
  };
}

/** Stores a new run, with as many of its steps claimed as there is room for, and carries it on. See `Runner.start`. */
async function start(core: RunnerCore, runs: LiveRuns, run: NewRun): Promise<Started> {
  if (core.phase.isClosed) throw KernelErrors.draining();
  const { idempotency, ...origin } = run;
  const { tenantId } = run;
  const graph = await core.graphs.get(tenantId, run.versionId);
  const facts = core.facts();
  const { claimant: worker, slots } = core;
  const room = worker === undefined ? 0 : slots.roomFor(tenantId);
  const runId = facts.newId();
  const claim = worker === undefined || room === 0 ? undefined : { worker, room };
  const transition = startRun(graph, { ...origin, id: runId }, facts, claim);
  const { state, events } = transition;
  const live = runs.of({ tenantId, runId });
  live.creating([...state.steps.values()].filter(({ status }) => status === 'running').length);
  const reply = new PendingReply<Started>(core.timers);
  const creation = { state, events, sinks: core.sinksOf(tenantId), idempotency };
  void storeNew(core, creation, reply, live, () => live.created(graph, transition));
  return reply.answer;
}

/** Retries until the run is stored, or its caller no longer waits: on a full disk none does. */
async function storeNew(
  { store, pauses, phase, metrics }: RunnerCore,
  creation: Creation,
  reply: PendingReply<Started>,
  live: LiveRun,
  created: () => void,
): Promise<void> {
  const { state } = creation;
  for (let failures = 1; ; failures += 1) {
    try {
      const result = await store.create(creation);
      if (typeof result === 'object' && result.runId !== state.id) {
        live.notCreated();
        return reply.resolve({ existing: result });
      }
      // Otherwise an earlier try that seemed to fail stored it: other processes may have changed it since.
      if (result === 'created') created();
      else live.createdInDoubt();
      return reply.resolve({ state });
    } catch (error) {
      metrics.committed('unknown');
      reply.reason = error;
      const isAwaited = () => !reply.isSettled && !phase.isClosed && !isDatabaseFull(error);
      if (isAwaited()) await pauses.pause(backoffDelay(failures, CREATION_PAUSE));
      if (isAwaited()) continue;
      // It may be stored nevertheless: then the claimed steps have to be carried out here.
      live.createdInDoubt();
      return reply.reject(error);
    }
  }
}

/** See `Runner.handOver`. */
async function handOver(core: RunnerCore, runs: LiveRuns, signal: AbortSignal): Promise<void> {
  const { phase, waiting, lease, pauses, store, log } = core;
  phase.isClosing = true;
  waiting.clear();
  await orAborted(runs.whenEmpty(), signal).catch(() => {});
  for (const run of runs.all()) run.release();
  // Other workers take over what cannot be given back, once our lease has expired.
  await Promise.race([runs.whenEmpty(), pauses.pause(HAND_OVER_MS)]);
  const worker = lease.stop();
  if (worker === undefined) return;
  const late = pauses.pause(SIGN_OFF_MS).then(() => {
    throw new Error('The database does not answer in time');
  });
  try {
    await Promise.race([store.leave(worker), late]);
  } catch (err) {
    log.warn({ err, worker }, 'the worker could not be signed off; it is forgotten when its lease is over');
  }
}

/** Ends the share of this process, which has handed over its steps. */
function end({ phase, pauses }: RunnerCore, runs: LiveRuns): void {
  phase.isClosed = true;
  pauses.endAll();
  for (const run of runs.all()) run.giveUp();
}
