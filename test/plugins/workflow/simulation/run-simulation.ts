import type { JsonObject } from '../../../../plugins/workflow/contract.ts';
import { compileGraph } from '../../../../plugins/workflow/services/graph/compile-graph.ts';
import { createRunner } from '../../../../plugins/workflow/services/runner/create-runner.ts';
import type { Runner, RunnerParts } from '../../../../plugins/workflow/services/runner/runner.ts';
import { createClients } from './clients.ts';
import type { Database } from './connection.ts';
import { createDeployment, type Deployment, sinksOf } from './deployment.ts';
import { type Faults, NO_FAULTS } from './faults.ts';
import { createMemoryStore } from './memory-store.ts';
import { scheduleMishaps } from './mishaps.ts';
import { type Profile, profileOf } from './profiles.ts';
import { createRandom } from './random.ts';
import { NODE_TYPES, randomGraph, WORK } from './random-graph.ts';
import { createDeliveries } from './rules/delivery-rules.ts';
import { checkFairness } from './rules/fairness.ts';
import { checkReplay } from './rules/replay.ts';
import { checkRouting } from './rules/routing-rules.ts';
import { checkState, isFinal } from './rules/state-rules.ts';
import { createScheduler } from './scheduler.ts';
import { createTrace } from './trace.ts';
import { watch } from './watch.ts';
import type { Tampering, Version, World } from './world.ts';

/** Simulated time after trouble until everything has to be settled, in milliseconds. */
const SETTLING_MS = 20 * 60_000;
/** Simulated time in which closed runners have to be gone. */
const CLOSING_MS = 60_000;
/** Redeliveries after which an attempt fails as `worker_lost` (decisions 2.6). */
const MAX_LOST = 3;
/** Events of a simulation that comes to rest. */
const MAX_EVENTS = 500_000;
/** The store's clock when a simulation begins. */
const EPOCH = Date.UTC(2026, 0, 1);

/** What is simulated. */
export interface SimulationOptions {
  readonly seed: number;
  /** Default: the one of the seed. */
  readonly profile?: Profile;
  readonly tampering?: Tampering;
  /** Lines of the trace that are kept; default 200. */
  readonly keep?: number;
  /** Default: the engine's own. */
  readonly createRunner?: (parts: RunnerParts) => Runner;
}

/** What came of a simulation. */
export interface Simulated {
  readonly seed: number;
  readonly profile: string;
  /** What was so and must never be so; empty when all is well. */
  readonly violations: readonly string[];
  /** Of all that happened: the same seed gives the same hash. */
  readonly hash: string;
  readonly events: number;
  readonly virtualMs: number;
  /** What was seen, for those who want to know whether it was seen at all. */
  readonly counts: Readonly<Record<string, number>>;
  readonly lines: readonly string[];
}

/** Runs one simulation to its end, or to the first thing that must never be so. */
export async function simulate(options: SimulationOptions): Promise<Simulated> {
  const { seed, keep = 200 } = options;
  const random = createRandom(`seed ${seed}`);
  const profile = options.profile ?? profileOf(seed, random.fork('profile'));
  const trace = createTrace(keep);
  const scheduler = createScheduler(random.fork('order'), trace);
  const now = () => Math.floor(EPOCH + scheduler.now);
  const violations: string[] = [];
  const counts: Record<string, number> = {};
  const count = (what: string) => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  const versions = createVersions(random.fork('graphs'), profile);
  const healed: Faults = { ...NO_FAULTS, queue: profile.faults.queue };
  const database: Database = { state: 'there' };
  let isTroubled = true;

  const world: World = {
    profile,
    scheduler,
    database,
    versions,
    random: random.fork('world'),
    deliveries: createDeliveries(profile.limits.concurrency),
    tampering: options.tampering ?? {},
    members: new Set(),
    clockErrors: new Map(),
    createRunner: options.createRunner ?? createRunner,
    faults: () => (isTroubled ? profile.faults : healed),
    count,
    storeNow: now,
    isTroubled: () => isTroubled && scheduler.now < profile.troubleMs,
    violate(what) {
      if (violations.includes(what)) return;
      trace.note(scheduler.now, `VIOLATION ${what}`);
      violations.push(what);
    },
    store: createMemoryStore({
      now,
      observe(write) {
        const { state } = write.after;
        const wrong = [
          ...checkState(write, {
            now: now(),
            clockErrorMs: world.clockErrors.get(write.writer)!(),
            maxLost: MAX_LOST,
          }),
          ...checkRouting(write, versions.get(state.versionId)!.graph),
          ...world.deliveries.wrote(write, world.store, scheduler.now),
        ];
        for (const { type } of write.events) count(type);
        for (const { type, data } of write.events) {
          if (type === 'step.failed') count(`failures ${(data.error as JsonObject | undefined)?.code}`);
        }
        for (const one of wrong) world.violate(`${state.id} at revision ${state.revision}: ${one}`);
      },
    }),
  };
  const deployment = createDeployment(world);
  const clients = createClients(world);
  const isBroken = () => {
    if (scheduler.count === MAX_EVENTS) world.violate('there is always something to do');
    return violations.length > 0;
  };

  const unhandled = (error: unknown) => world.violate(`a promise rejected and nobody heard: ${error}`);
  process.on('unhandledRejection', unhandled);

  for (let index = 0; index < profile.processes; index += 1) deployment.start();
  clients.startRuns();
  scheduleMishaps(world, deployment);
  watch(world);
  await scheduler.runUntil(profile.troubleMs, isBroken);

  if (profile.troubleMs > 0) {
    trace.note(scheduler.now, 'the trouble is over');
    isTroubled = false;
    database.state = 'there';
  }
  const isIdle = () => world.deliveries.underWay().every(({ abortedAt }) => abortedAt !== undefined);
  const isSettled = () => clients.unanswered === 0 && openRuns(world).length === 0 && isIdle();
  await scheduler.runUntil(scheduler.now + SETTLING_MS, () => isBroken() || isSettled());
  if (!isBroken()) {
    for (const state of openRuns(world))
      world.violate(`${state.id} is ${state.status} and does not come to an end`);
    if (clients.unanswered > 0) world.violate(`${clients.unanswered} starts were not answered`);
  }
  if (!isBroken()) for (const unfair of checkFairness(world)) world.violate(unfair);
  if (!isBroken()) await closeAll(world, deployment, isBroken);
  if (!isBroken()) checkAll(world, [...clients.acknowledged.keys()]);
  process.off('unhandledRejection', unhandled);

  for (const { state } of world.store.runs()) count(`runs ${state.status}`);
  counts.executions = world.deliveries.executions.size;
  return {
    seed,
    violations,
    counts,
    profile: profile.name,
    hash: trace.hash(),
    events: scheduler.count,
    virtualMs: scheduler.now,
    lines: trace.lines(),
  };
}

/**
 * Runs that somebody or something still has to bring forward: not those that are over, and not those that people keep
 * waiting for ever.
 */
function openRuns({ store }: World) {
  return store
    .runs()
    .map((run) => run.state)
    .filter((state) => {
      if (isFinal(state.status)) return false;
      return state.status === 'running' || state.owner !== null || state.wakeAt !== null;
    });
}

async function closeAll(world: World, deployment: Deployment, isBroken: () => boolean): Promise<void> {
  const { members, scheduler, store } = world;
  deployment.end();
  await scheduler.runUntil(scheduler.now + CLOSING_MS, () => isBroken() || members.size === 0);
  if (isBroken()) return;
  for (const { process, state } of members) world.violate(`${process.name} is ${state}, and not gone`);
  for (const { state } of store.runs()) {
    if (state.owner !== null) world.violate(`${state.id} is owned by ${state.owner} after all have closed`);
  }
}

function checkAll(world: World, acknowledged: readonly string[]): void {
  const { store, deliveries } = world;
  for (const runId of acknowledged) {
    if (store.run(runId) === undefined) world.violate(`${runId} was acknowledged and is not there`);
  }
  const noted = new Map<string, number>();
  for (const { fence } of store.ledger) noted.set(String(fence), (noted.get(String(fence)) ?? 0) + 1);
  for (const { state, events, outbox } of store.runs()) {
    const expected = events.flatMap(({ seq }) => sinksOf(state.tenantId).map((sink) => `${sink} ${seq}`));
    if (String(outbox) !== String(expected))
      world.violate(`${state.id} has the events [${outbox}] in its outbox`);
    for (const one of checkReplay(state, events)) world.violate(`${state.id}: ${one}`);
    for (const step of state.steps.values()) {
      if (step.nodeType !== WORK || step.status !== 'completed') continue;
      const fence = `${step.id}-${step.attempt}/${step.delivery}`;
      if (!deliveries.executions.has(fence)) world.violate(`${fence} completed and was never executed`);
      if (noted.get(fence) !== 1)
        world.violate(`what commits with ${fence} was written ${noted.get(fence)} times`);
      noted.delete(fence);
    }
  }
  for (const fence of noted.keys())
    world.violate(`what commits with ${fence} was written, and it did not complete`);
}

function createVersions(
  random: ReturnType<typeof createRandom>,
  profile: Profile,
): ReadonlyMap<string, Version> {
  const versions = new Map<string, Version>();
  for (let index = 0; index < 4; index += 1) {
    const graph = randomGraph(random, profile.nodes, profile.humans);
    versions.set(`v${index}`, { id: `v${index}`, graph, compiled: compileGraph(graph, NODE_TYPES) });
  }
  return versions;
}
