import type { JsonObject } from '../../contract/graph.ts';
import type { RunStatus, StepError, StepStatus } from '../../contract/runs.ts';
import type { CompiledGraph, CompiledNode } from '../graph/compiled-graph.ts';
import type { Facts, Fence, NewEvent } from './commands.ts';

/**
 * Everything about a run that its rules depend on. Plain and immutable: a transition gives a new one and keeps the objects of the steps
 * that did not change. Times are milliseconds since the epoch on the database's clock.
 */
export interface RunState {
  readonly id: string;
  readonly tenantId: string;
  readonly definitionId: string;
  readonly versionId: string;
  readonly version: number;
  /** A function of the steps (decisions 2.3), kept for those who list runs. */
  readonly status: RunStatus;
  /** Grows by one with each commit: of two who change the same state only one can store it. */
  readonly revision: number;
  /** Number of the last event. */
  readonly seq: number;
  readonly input: JsonObject;
  readonly variables: JsonObject;
  readonly error: StepError | null;
  /** The worker that carries out the running steps: no other worker claims steps of the run. Null while no step is running. */
  readonly owner: string | null;
  /** When somebody has to look at the run without a command: a timer is due, or steps are unclaimed. See `wakeAt`. */
  readonly wakeAt: number | null;
  readonly startedBy: string;
  readonly startedAt: number;
  readonly completedAt: number | null;
  readonly updatedAt: number;
  /** By node. A node without one is not decided yet. */
  readonly steps: ReadonlyMap<string, StepState>;
}

/** One node of a run, from the moment that it is decided. */
export interface StepState {
  readonly id: string;
  readonly nodeId: string;
  readonly nodeName: string;
  readonly nodeType: string;
  readonly status: StepStatus;
  /** 1 for the first. `attempt` and `delivery` together are the fence: a result with another pair is too late. */
  readonly attempt: number;
  /** How often this attempt was handed to somebody; 0 before the first time. It only grows within an attempt: a fence is never used twice. */
  readonly delivery: number;
  /** Deliveries of this attempt that were lost with their worker; one that a worker gave back is not among them. */
  readonly lost: number;
  /** Of a pending step that waits for its next attempt: not before this time. */
  readonly readyAt: number | null;
  readonly assignee: string | null;
  readonly input: JsonObject | null;
  readonly output: JsonObject | null;
  readonly outcome: string | null;
  readonly error: StepError | null;
  /** Indexes of the outgoing edges that were taken, once the step is completed (decisions 2.1.4). */
  readonly taken: readonly number[] | null;
  /** Of a completed human task: who, and what he said, to know the same payload again. */
  readonly completion: { readonly by: string; readonly payload: JsonObject } | null;
  /** Of a human task: when it times out. */
  readonly dueAt: number | null;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
}

/** How many steps of a run are in the states that its own depends on, and how many were activated. */
export interface Tally {
  pending: number;
  running: number;
  waiting: number;
  failed: number;
  /** What `WORKFLOW_MAX_STEPS` counts (decisions 2.6): all but the skipped ones, and those that failed because the limit was reached. */
  activated: number;
}

/** Code of a step that was not activated because the run had activated as many as it may. */
export const MAX_STEPS_EXCEEDED = 'max_steps_exceeded';

/** Counts steps. */
export function tallyOf(steps: Iterable<StepState>): Tally {
  const tally: Tally = { pending: 0, running: 0, waiting: 0, failed: 0, activated: 0 };
  for (const step of steps) count(tally, step, 1);
  return tally;
}

/** Adds a step to a tally, or takes it out. */
function count(tally: Tally, { status, error }: StepState, by: 1 | -1): void {
  if (status === 'pending' || status === 'running' || status === 'waiting' || status === 'failed') {
    tally[status] += by;
  }
  if (status !== 'skipped' && error?.code !== MAX_STEPS_EXCEEDED) tally.activated += by;
}

/** The status of a run that is not cancelled: a function of its steps (decisions 2.3). */
export function statusOf(tally: Readonly<Tally>): Exclude<RunStatus, 'cancelled'> {
  if (tally.failed > 0) return 'paused';
  if (tally.pending > 0 || tally.running > 0) return 'running';
  return tally.waiting > 0 ? 'waiting' : 'completed';
}

/** Whether a status is final. */
export function isTerminal(status: RunStatus): boolean {
  return status === 'completed' || status === 'cancelled';
}

/**
 * The next state of a run while a transition works on it. It is the one thing here that changes; no rule keeps it, and the state that it
 * began with stays as it is.
 */
export interface Transition {
  readonly graph: CompiledGraph;
  readonly facts: Facts;
  readonly before: RunState;
  status: RunStatus;
  seq: number;
  variables: JsonObject;
  error: StepError | null;
  owner: string | null;
  /** Read only: `putStep` writes. */
  steps: ReadonlyMap<string, StepState>;
  /** Kept with each write, so that no rule has to count. */
  readonly tally: Tally;
  /** Nodes that were completed or skipped, whose successors are not decided yet. */
  readonly resolved: string[];
  readonly events: NewEvent[];
}

/** Begins a transition. Copies nothing. */
export function openTransition(graph: CompiledGraph, before: RunState, facts: Facts): Transition {
  const { status, seq, variables, error, owner, steps } = before;
  const tally = tallyOf(steps.values());
  const resolved: string[] = [];
  const events: NewEvent[] = [];
  return { graph, facts, before, status, seq, variables, error, owner, steps, tally, resolved, events };
}

/** Writes a step, new or changed. The steps are copied with the first write. */
export function putStep(transition: Transition, step: StepState): void {
  if (transition.steps === transition.before.steps) transition.steps = new Map(transition.steps);
  const old = transition.steps.get(step.nodeId);
  if (old !== undefined) count(transition.tally, old, -1);
  count(transition.tally, step, 1);
  (transition.steps as Map<string, StepState>).set(step.nodeId, step);
}

/** The step of a node that has just been decided: the beginning of its first attempt, written nowhere yet. */
export function newStep({ facts }: Transition, { id, name, type }: CompiledNode): StepState {
  return {
    id: facts.newId(),
    nodeId: id,
    nodeName: name,
    nodeType: type,
    status: 'pending',
    attempt: 1,
    delivery: 0,
    lost: 0,
    readyAt: null,
    assignee: null,
    input: null,
    output: null,
    outcome: null,
    error: null,
    taken: null,
    completion: null,
    dueAt: null,
    createdAt: facts.now,
    startedAt: null,
    completedAt: null,
  };
}

/** The beginning of a step's next attempt. What the last one left is gone: templates are filled in anew. */
export function nextAttempt(step: StepState, readyAt: number | null = null): StepState {
  return {
    ...step,
    status: 'pending',
    attempt: step.attempt + 1,
    delivery: 0,
    lost: 0,
    readyAt,
    assignee: null,
    input: null,
    error: null,
    dueAt: null,
    startedAt: null,
    completedAt: null,
  };
}

/** The running step of a delivery; undefined when that delivery is over. */
export function runningStep({ steps }: Transition, fence: Fence): StepState | undefined {
  const step = stepById(steps, fence.stepId);
  const isCurrent = step?.attempt === fence.attempt && step.delivery === fence.delivery;
  return isCurrent && step.status === 'running' ? step : undefined;
}

/** The step of an id. */
export function stepById(steps: Transition['steps'], id: string): StepState | undefined {
  for (const step of steps.values()) if (step.id === id) return step;
  return undefined;
}

/** Nodes by their place in topological order. Whatever happens to several nodes at once happens in this order, so that it is repeatable. */
interface Topology {
  readonly nodes: readonly CompiledNode[];
  rankOf(nodeId: string): number;
}

/** Graphs never change, so what is computed of one holds as long as it lives. */
const known = new WeakMap<CompiledGraph, Topology>();

/** The topological order of a graph. Computed once a graph. */
export function topologyOf(graph: CompiledGraph): Topology {
  let topology = known.get(graph);
  if (topology === undefined) {
    const nodes = [...graph.nodes.values()];
    const ranks = new Map(nodes.map(({ id }, rank) => [id, rank]));
    topology = { nodes, rankOf: (nodeId) => ranks.get(nodeId)! };
    known.set(graph, topology);
  }
  return topology;
}

/** Sorts what belongs to nodes into topological order, in place. */
export function inOrder<T extends { readonly nodeId: string }>(graph: CompiledGraph, items: T[]): T[] {
  if (items.length < 2) return items;
  const { rankOf } = topologyOf(graph);
  return items.sort((one, other) => rankOf(one.nodeId) - rankOf(other.nodeId));
}
