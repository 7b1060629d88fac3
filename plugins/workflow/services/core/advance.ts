import type { CompiledGraph } from '../graph/compiled-graph.ts';
import { claim, released, workerIsLost } from './claim.ts';
import { type Command, cancel, type Facts, retry, type TransitionResult, type Verdict } from './commands.ts';
import { activate, decideSuccessors } from './decide.ts';
import { emitRunEvent } from './events.ts';
import { failed, succeeded } from './finish.ts';
import { newStep, openTransition, type RunState, type Transition } from './state.ts';
import { openTasks, taskCompleted, tick } from './tasks.ts';
import { closeTransition, settle } from './wake.ts';

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
  commands: readonly Command[],
  facts: Facts,
): TransitionResult {
  const transition = openTransition(graph, state, facts);
  const verdicts = commands.map((command) => applyTo(transition, command));
  return { state: closeTransition(transition), events: transition.events, verdicts };
}

/** Where a run comes from. */
export type Origin = Pick<
  RunState,
  'id' | 'tenantId' | 'definitionId' | 'versionId' | 'version' | 'input' | 'startedBy'
>;

/** The first state of a run, revision 1: `start` is completed, and what it leads to is decided, and claimed where somebody claims it. */
export function startRun(
  graph: CompiledGraph,
  origin: Origin,
  facts: Facts,
  claimant?: { readonly worker: string; readonly room: number },
): TransitionResult {
  const transition = openTransition(graph, newRun(origin, facts), facts);
  emitRunEvent(transition, 'run.started', { by: origin.startedBy });
  activate(transition, newStep(transition, graph.nodes.get(graph.startId)!));
  follow(transition);
  const verdicts = claimant === undefined ? [] : [applyTo(transition, { type: 'claim', ...claimant })];
  return { state: closeTransition(transition), events: transition.events, verdicts };
}

function applyTo(transition: Transition, command: Command): Verdict {
  const verdict = apply(transition, command);
  if (verdict === 'applied') follow(transition);
  return verdict;
}

/** A run before its first step. */
function newRun(origin: Origin, { now }: Facts): RunState {
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
function follow(transition: Transition): void {
  decideSuccessors(transition);
  openTasks(transition);
  settle(transition);
}

function apply(transition: Transition, command: Command): Verdict {
  switch (command.type) {
    case 'claim':
      return claim(transition, command);
    case 'succeeded':
      return succeeded(transition, command);
    case 'failed':
      return failed(transition, command);
    case 'released':
      return released(transition, command);
    case 'worker_lost':
      return workerIsLost(transition, command);
    case 'tick':
      return tick(transition);
    case 'task_completed':
      return taskCompleted(transition, command);
    case 'retry':
      return retry(transition, command.by);
    case 'cancel':
      return cancel(transition, command.by);
  }
}
