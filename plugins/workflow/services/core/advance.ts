import type { CompiledGraph } from '../graph/compiled-graph.ts';
import { activate } from './activating.ts';
import { claim } from './claiming.ts';
import { decideSuccessors } from './deciding.ts';
import { closeDraft, type Draft, openDraft } from './draft.ts';
import { tellOfRun } from './event-writer.ts';
import { failed, succeeded } from './finishing.ts';
import { openTasks, taskCompleted, tick } from './human-tasks.ts';
import type { Facts, Occurrence, Transition, Verdict } from './occurrence.ts';
import { cancel, retry } from './orders.ts';
import { released, workerIsLost } from './redelivery.ts';
import type { RunState } from './run-state.ts';
import { settle } from './settling.ts';
import { newStep } from './step.ts';

/**
 * Applies what happened to a run, in order, and gives its next state with the events of the change. Pure: the same arguments give the same
 * result, but for the ids that `facts.newId` makes. `state` stays as it is. The revision grows by one in all when anything changed;
 * when nothing did, the very same object comes back, and no events.
 *
 * @param graph that of the version to which the run is pinned
 */
export function advance(
  graph: CompiledGraph,
  state: RunState,
  occurrences: readonly Occurrence[],
  facts: Facts,
): Transition {
  const draft = openDraft(graph, state, facts);
  const verdicts = occurrences.map((occurrence) => applyTo(draft, occurrence));
  return { state: closeDraft(draft), events: draft.events, verdicts };
}

/** Where a run comes from. */
export type Origin = Pick<
  RunState,
  'id' | 'tenantId' | 'definitionId' | 'versionId' | 'version' | 'input' | 'startedBy'
>;

/** The first state of a run, revision 1: `start` is completed, and what it leads to is decided, and claimed where somebody claims it. */
export function startRun(
  graph: CompiledGraph,
  given: Origin,
  facts: Facts,
  claimant?: { readonly worker: string; readonly room: number },
): Transition {
  const draft = openDraft(graph, nothing(given, facts), facts);
  tellOfRun(draft, 'run.started', { by: given.startedBy });
  activate(draft, newStep(draft, graph.nodes.get(graph.startId)!));
  follow(draft);
  const verdicts = claimant === undefined ? [] : [applyTo(draft, { type: 'claim', ...claimant })];
  return { state: closeDraft(draft), events: draft.events, verdicts };
}

function applyTo(draft: Draft, occurrence: Occurrence): Verdict {
  const verdict = apply(draft, occurrence);
  if (verdict === 'applied') follow(draft);
  return verdict;
}

/** A run of which nothing is known but where it comes from. */
function nothing(origin: Origin, { now }: Facts): RunState {
  return {
    ...origin,
    status: 'running',
    revision: 0,
    seq: 0,
    variables: {},
    error: null,
    owner: null,
    wakeAt: null,
    startedAt: now,
    completedAt: null,
    updatedAt: now,
    steps: new Map(),
  };
}

/** What follows from every change. */
function follow(draft: Draft): void {
  decideSuccessors(draft);
  openTasks(draft);
  settle(draft);
}

function apply(draft: Draft, occurrence: Occurrence): Verdict {
  switch (occurrence.type) {
    case 'claim':
      return claim(draft, occurrence);
    case 'succeeded':
      return succeeded(draft, occurrence);
    case 'failed':
      return failed(draft, occurrence);
    case 'released':
      return released(draft, occurrence);
    case 'worker_lost':
      return workerIsLost(draft, occurrence);
    case 'tick':
      return tick(draft);
    case 'task_completed':
      return taskCompleted(draft, occurrence);
    case 'retry':
      return retry(draft, occurrence.by);
    case 'cancel':
      return cancel(draft, occurrence.by);
  }
}
