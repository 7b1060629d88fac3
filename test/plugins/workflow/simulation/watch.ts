import type { RunState } from '../../../../plugins/workflow/services/core/state.ts';
import { fenceOf } from './effects.ts';
import { isFinal } from './rules/state-rules.ts';
import type { Member, World } from './world.ts';

/** How often it is looked, in milliseconds. */
const INTERVAL_MS = 1000;
/** Calls that began in trouble end within this time after it. */
const AFTERMATH_MS = 15_000;

/**
 * Watches, as long as nothing goes wrong, that nothing is left lying: what is due is taken up, orphans are taken over,
 * owners carry out what they have claimed and claim what they have room for, calls that nobody waits for are aborted.
 * All within a few sweeps.
 */
export function watch(world: World): void {
  const { scheduler, store, members, deliveries, profile } = world;
  const { limits, faults, troubleMs } = profile;
  const slowness = 1 + faults.drift;
  const sweepsMs = 2 * limits.sweepIntervalMs * slowness + 4000;
  const abortMs = sweepsMs + limits.leaseMs;
  const timeoutMs = limits.stepTimeoutMs * slowness + 2000;
  const calmSince = troubleMs === 0 ? 0 : troubleMs + AFTERMATH_MS;
  /** Since when each thing is as it should not stay. */
  let seen = new Map<string, number>();

  const hasRoom = ({ process }: Member) =>
    deliveries.underWay().filter((execution) => execution.process === process).length < limits.concurrency;

  function look(): void {
    const now = scheduler.now;
    const open = [...members].filter(({ state, process }) => state === 'open' && process.awakeSince <= now);
    const before = seen;
    seen = new Map();
    const since = (what: string) => {
      const first = before.get(what) ?? now;
      seen.set(what, first);
      return now - first;
    };
    const roomy = open.filter(hasRoom).filter(({ process }) => since(`room ${process.name}`) >= sweepsMs);

    for (const { state } of store.runs()) {
      if (isFinal(state.status)) continue;
      const isDue = state.wakeAt !== null && state.wakeAt <= world.storeNow();
      if (isDue && since(`due ${state.id} ${state.revision}`) > sweepsMs && roomy.length > 0) {
        world.violate(`${state.id} is due since ${state.wakeAt}, and nobody looks`);
      }
      const { owner } = state;
      if (owner === null) continue;
      if (!store.isAlive(owner)) {
        if (since(`orphan ${state.id}`) > sweepsMs && open.length > 0) {
          world.violate(`${state.id} is owned by ${owner}, which is gone, and nobody takes it over`);
        }
        continue;
      }
      lookAtOwner(state, owner, roomy, since);
    }
    lookAtExecutions(now);
  }

  function lookAtOwner(
    state: RunState,
    owner: string,
    roomy: readonly Member[],
    since: (what: string) => number,
  ): void {
    const name = store.writerOf(owner);
    for (const step of state.steps.values()) {
      const at = `${step.id}-${step.attempt}/${step.delivery}`;
      const isReady =
        step.status === 'pending' && (step.readyAt === null || step.readyAt <= world.storeNow());
      const couldClaim =
        isReady && state.status === 'running' && roomy.some(({ process }) => process.name === name);
      if (couldClaim && since(`unclaimed ${at}`) > sweepsMs) {
        world.violate(`${at} is ready and not claimed by ${owner}, which owns ${state.id}`);
      }
      const isOpen = deliveries.underWay().some((execution) => fenceOf(execution) === at);
      if (step.status === 'running' && !isOpen && since(`forgotten ${at}`) > sweepsMs) {
        world.violate(`${at} is running, and ${owner}, which is alive, does nothing for it`);
      }
    }
  }

  function lookAtExecutions(now: number): void {
    for (const execution of deliveries.underWay()) {
      if (execution.abortedAt !== undefined || execution.process.awakeSince > now) continue;
      const calm = Math.max(calmSince, execution.process.awakeSince);
      const obsolete = deliveries.obsoleteSince(execution);
      if (obsolete !== undefined && now - Math.max(obsolete, calm) > abortMs) {
        world.violate(`${fenceOf(execution)} goes on, nobody waits for it since ${obsolete}`);
      }
      if (now - Math.max(execution.startedAt, execution.process.awakeSince) > timeoutMs) {
        world.violate(
          `${fenceOf(execution)} goes on since ${execution.startedAt}, longer than a step may take`,
        );
      }
    }
  }

  const again = (ms: number) =>
    scheduler.after(ms, '', () => {
      look();
      again(INTERVAL_MS);
    });
  again(calmSince + INTERVAL_MS);
}
