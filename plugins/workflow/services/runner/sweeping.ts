import type { RunPlace } from '../../contract/engine.ts';
import { type Admission, LOOKS_AT_ONCE } from './admission.ts';
import { each } from './each.ts';
import type { LiveRuns } from './live-runs.ts';
import type { RunnerCore } from './runner-core.ts';

/** Orphans that one sweep takes over. */
const ORPHANS = 64;

/** Finds what nobody told of. Rejects when the database does not answer; what cannot be done for one run does not hinder the others. */
export async function sweep(
  core: RunnerCore,
  runs: LiveRuns,
  admission: Admission,
  signal: AbortSignal,
): Promise<void> {
  const isOver = () => signal.aborted || core.phase.isClosing;
  if (isOver()) return;
  await core.clock.renew();
  if (isOver()) return;
  await takeOverOrphans(core, runs, signal);
  if (isOver()) return;
  await compareOwned(core, runs);
  if (isOver()) return;
  const limit = admission.appetite;
  const due = await core.store.due(limit);
  core.observer.found('due', due.length);
  await admission.found(due, limit, signal);
  core.placesFreed();
}

/** Runs whose worker is gone: their steps are pending again, and we begin what we have room for. */
async function takeOverOrphans(core: RunnerCore, runs: LiveRuns, signal: AbortSignal): Promise<void> {
  const orphans = await core.store.orphans(ORPHANS);
  core.observer.found('orphan', orphans.length);
  await each(orphans, LOOKS_AT_ONCE, signal, async ({ tenantId, runId, owner }) => {
    try {
      await runs.of({ tenantId, runId }).ask({ type: 'worker_lost', worker: owner });
    } catch (error) {
      const fields = { err: error, tenant_id: tenantId, run_id: runId, worker: owner };
      core.log.warn(fields, 'a run of a lost worker could not be taken over; the next sweep tries again');
    }
  });
}

/** What we own, and what we believe to own: where these differ, the run is read, and what is in hand adjusted. */
async function compareOwned(core: RunnerCore, runs: LiveRuns): Promise<void> {
  const { worker } = core.heartbeat;
  if (worker === undefined) return;
  const believed = runs.all().filter(({ isInHand }) => isInHand);
  const revisions = believed.map(({ revision }) => revision);
  const owned = await core.store.owned(worker);
  const isOwned = new Set<unknown>();
  let drifted = 0;
  for (const row of owned) {
    const place: RunPlace = { tenantId: row.tenantId, runId: row.runId };
    const live = runs.get(place);
    isOwned.add(live);
    // Ours may have gone on since the question; what is behind has not seen something.
    if (live?.isInHand && (live.revision ?? 0) >= row.revision) continue;
    drifted += 1;
    void runs.of(place).look(0);
  }
  for (const [index, run] of believed.entries()) {
    if (isOwned.has(run) || !run.isInHand || run.revision !== revisions[index]) continue;
    drifted += 1;
    run.refresh();
  }
  core.observer.found('drifted', drifted);
}
