import { KernelErrors } from 'agent-gateway';
import { startRun } from '../core/advance.ts';
import type { Creation } from '../ports/run-store.ts';
import type { NewRun, Runner } from '../ports/runner.ts';
import { Asker } from './entry.ts';
import type { LiveRun } from './live-run.ts';
import type { LiveRuns } from './live-runs.ts';
import { growing } from './pauses.ts';
import type { RunnerCore } from './runner-core.ts';

type Started = Awaited<ReturnType<Runner['start']>>;

/** Milliseconds between tries to store a new run. */
const PAUSE = { first: 50, most: 1_000 };

/** Stores a new run with the steps that we have room for claimed in it, and carries it on. See `Runner.start`. */
export async function start(core: RunnerCore, runs: LiveRuns, run: NewRun): Promise<Started> {
  if (core.phase.isClosed) throw KernelErrors.draining();
  const { idempotency, ...origin } = run;
  const graph = await core.graphs.get(run.tenantId, run.versionId);
  const facts = core.facts();
  const { claimant, places, waiting } = core;
  const room = claimant === undefined ? 0 : places.roomFor(run.tenantId, waiting.tenants());
  const by = claimant === undefined || room === 0 ? undefined : { worker: claimant, room };
  const id = facts.newId();
  const transition = startRun(graph, { ...origin, id }, facts, by);
  const { state, events } = transition;
  const claimed = [...state.steps.values()].filter(({ status }) => status === 'running').length;
  places.take(run.tenantId, claimed);
  const live = runs.of({ tenantId: run.tenantId, runId: id });
  live.opening(claimed);
  const asker = new Asker<Started>(core.timers);
  const creation = { state, events, sinks: core.sinksOf(run.tenantId), idempotency };
  void create(core, creation, asker, live, () => live.opened(graph, transition));
  return asker.answer;
}

/** Tries until it is stored, or nobody waits for it any more. */
async function create(
  core: RunnerCore,
  creation: Creation,
  asker: Asker<Started>,
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
        return asker.tell({ existing: result });
      }
      // By a try that failed as it seemed: others may have changed it since.
      if (result === 'created') opened();
      else live.openedInDoubt();
      return asker.tell({ state });
    } catch (error) {
      core.observer.committed('unknown');
      asker.reason = error;
      if (!asker.isSettled && !phase.isClosed) {
        await pauses.pause(growing(failures, PAUSE.first, PAUSE.most));
      }
      if (!asker.isSettled && !phase.isClosed) continue;
      // It may be stored all the same: then what was claimed is ours to do.
      live.openedInDoubt();
      return asker.fail(error);
    }
  }
}
