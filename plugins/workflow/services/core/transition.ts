import type { JsonObject } from '../../contract/graph.ts';
import type { RunEventType, RunStatus, StepError, StepStatus } from '../../contract/runs.ts';
import {
  type CompiledGraph,
  type CompiledNode,
  chooseEdges,
  type Filled,
  type RunData,
} from '../graph/compiled-graph.ts';
import { retryDelay } from '../graph/retry-policy.ts';
import { type CommandOf, type Facts, type Fence, type NewEvent, SYSTEM } from './commands.ts';
import { noMatchingEdge } from './failures.ts';
import { isTerminal, nextAttempt, type RunState, type StepState, timestamp } from './state.ts';
import { count, MAX_STEPS_EXCEEDED, statusOf, type Tally, tallyOf, wakeAt } from './status.ts';

/** The event of each new status. `cancel` emits that of `cancelled`. */
const STATUS_EVENTS = {
  running: 'run.resumed',
  waiting: 'run.waiting',
  paused: 'run.paused',
  completed: 'run.completed',
} as const satisfies Partial<Record<RunStatus, RunEventType>>;

/** How a step completes. */
export interface Completion {
  readonly output: JsonObject;
  /** What its worker recorded for its event. */
  readonly record?: JsonObject | undefined;
  /** Of a human task: who completes it. */
  readonly by?: string;
  readonly outcome?: string | null;
  /** Of a human task: what was sent, to recognize a repetition. Without it, every later completion is refused. */
  readonly payload?: JsonObject;
  /** In place of those of the run. */
  readonly variables?: JsonObject;
}

/** How a step fails; by default for good. */
export type Failure = Partial<Pick<CommandOf<'failed'>, 'isRetryable' | 'retryAfterMs' | 'record'>>;

/**
 * The next state of a run while commands are applied to it. It is the only mutable object here, and is not kept; the
 * state that it began with stays as it is. Rules read it and decide on moves; each move writes a step and emits its
 * event.
 */
export class Transition {
  readonly graph: CompiledGraph;
  readonly facts: Facts;
  readonly #before: RunState;
  readonly #next: { -readonly [Member in keyof RunState]: RunState[Member] };
  readonly #events: NewEvent[] = [];
  readonly #tally: Tally;
  /** Nodes that completed or skipped ones lead to: the last in topological order first, each once. */
  readonly #undecided: CompiledNode[] = [];

  constructor(graph: CompiledGraph, before: RunState, facts: Facts) {
    this.graph = graph;
    this.facts = facts;
    this.#before = before;
    this.#next = { ...before };
    this.#tally = tallyOf(before.steps.values());
  }

  /** The run as it stands now, for reading. */
  get state(): RunState {
    return this.#next;
  }

  /** Whether a step is failed, so that the run is paused when the transition ends. */
  get hasFailed(): boolean {
    return this.#tally.failed > 0;
  }

  /** Whether the run has activated as many steps as it may (decisions 2.6), and this one is not among them. */
  isFullFor({ nodeId }: StepState): boolean {
    const counted = this.#next.steps.get(nodeId);
    if (counted !== undefined && counted.error?.code !== MAX_STEPS_EXCEEDED) return false;
    return this.#tally.activated >= this.facts.limits.maxSteps;
  }

  node({ nodeId }: StepState): CompiledNode {
    return this.graph.nodes.get(nodeId)!;
  }

  /**
   * Steps by status, in topological order. Changes of several steps at once happen in this order, so that they are
   * repeatable.
   */
  steps(
    statuses: readonly StepStatus[],
    isMeant: (step: StepState) => boolean = () => true,
  ): readonly StepState[] {
    if (statuses.every((status) => this.#tally[status] === 0)) return [];
    const steps = this.#next.steps.values().filter((step) => statuses.includes(step.status) && isMeant(step));
    return [...steps].sort((one, other) => this.node(one).rank - this.node(other).rank);
  }

  step(id: string): StepState | undefined {
    return this.#next.steps.values().find((step) => step.id === id);
  }

  /** The running step of a delivery; undefined when that delivery is over. */
  running({ stepId, attempt, delivery }: Fence): StepState | undefined {
    const step = this.step(stepId);
    const isCurrent = step?.attempt === attempt && step.delivery === delivery;
    return isCurrent && step.status === 'running' ? step : undefined;
  }

  /** What a step's configuration is with the data of the run as they stand now. */
  fill(step: StepState): Filled {
    return this.node(step).fill(this.#data());
  }

  /** The next node to be decided. All nodes that can decide it come before it, so it is never checked too early. */
  nextUndecided(): CompiledNode | undefined {
    return this.#undecided.pop();
  }

  /* What happens to a step. */

  /**
   * The step waits for a worker, or, if its node is a human task, to be opened. Its event is the next `step.started` or
   * `task.created`.
   */
  enqueue(step: StepState): void {
    this.#write({ ...step, status: 'pending' });
  }

  /**
   * A worker takes its next delivery, and owns the run. `filled` is given at the first delivery of an attempt; the
   * others have its input.
   */
  start(step: StepState, worker: string, filled?: Filled): void {
    const running: StepState = {
      ...step,
      status: 'running',
      delivery: step.delivery + 1,
      readyAt: null,
      input: filled?.input ?? step.input,
      startedAt: step.startedAt ?? this.facts.now,
    };
    this.#next.owner = worker;
    this.#write(running);
    this.#emit('step.started', running, deliveryOf(running));
    if (filled !== undefined) this.#warn(running, filled);
  }

  /** The task may be completed from now on, and its timeout runs. */
  openTask(step: StepState, filled: Filled, assignee: string | null): void {
    const { timeoutMs } = this.node(step);
    const { now } = this.facts;
    const dueAt = timeoutMs === undefined ? null : now + timeoutMs;
    this.#write({ ...step, status: 'waiting', input: filled.input, assignee, dueAt, startedAt: now });
    this.#emit('task.created', step, {
      attempt: step.attempt,
      assignee,
      ...(dueAt === null ? {} : { due_at: timestamp(dueAt) }),
      outcomes: this.graph.outcomesOf(step.nodeId),
    });
    this.#warn(step, filled);
  }

  /** The time of a task is over. What follows from that is another move. */
  timeOut(step: StepState): void {
    this.#emit('task.timed_out', step, { attempt: step.attempt });
  }

  /**
   * Completes a step with the edges that it takes, which see its output and variables. False if no edge leads on from a
   * node that is not an end: then nothing has changed.
   */
  complete(step: StepState, completion: Completion): boolean {
    const { output, record, by, outcome = null, payload, variables = this.#next.variables } = completion;
    const { now } = this.facts;
    const node = this.node(step);
    const before = this.#data();
    const outputOf = (nodeId: string) => (nodeId === node.id ? output : before.output(nodeId));
    const taken = chooseEdges(this.graph, node, outcome, { ...before, variables, output: outputOf });
    if (taken.length === 0 && node.behavior !== 'end') return false;
    this.#next.variables = variables;
    if (by !== undefined) this.#emit('task.completed', step, { by, outcome });
    this.#write({
      ...step,
      status: 'completed',
      output,
      outcome,
      taken,
      completion: by === undefined || payload === undefined ? null : { by, payload },
      startedAt: step.startedAt ?? now,
      completedAt: now,
    });
    this.#emit('step.completed', step, deliveryOf(step, record));
    this.#leadOn(node);
    return true;
  }

  /** Completes a step that no person completes, or fails it as `no_matching_edge` (decisions 2.1.2). */
  finish(step: StepState, output: JsonObject, record?: JsonObject): void {
    if (this.complete(step, { output, record })) return;
    this.fail(step, noMatchingEdge(this.graph, this.node(step)), { record });
  }

  /**
   * Ends an attempt that failed: the step waits for its next attempt if the node's `retry` has one left, else it is
   * failed (decisions 2.6).
   */
  fail(step: StepState, { code, message }: StepError, how: Failure = {}): void {
    const { now } = this.facts;
    const error = { code, message, node: step.nodeId };
    const data = { ...deliveryOf(step, how.record), error };
    const delay = how.isRetryable
      ? retryDelay(this.node(step).retry, step.attempt, how.retryAfterMs)
      : undefined;
    if (delay !== undefined) {
      this.#write(nextAttempt(step, now + delay));
      this.#emit('step.failed', step, { ...data, retry_at: timestamp(now + delay) });
      return;
    }
    this.#write({ ...step, status: 'failed', error, completedAt: now });
    this.#emit('step.failed', step, data);
    this.#next.error ??= error;
  }

  skip(step: StepState): void {
    this.#write({ ...step, status: 'skipped', completedAt: this.facts.now });
    this.#emit('step.skipped', step);
    this.#leadOn(this.node(step));
  }

  /* What happens to the run. */

  begin(): void {
    this.#emit('run.started', null, { by: this.#next.startedBy });
  }

  /** Ends the pause; the attempts of the failed steps have to begin now. */
  resume(by: string): void {
    this.#next.error = null;
    this.#next.status = 'running';
    this.#emit('run.resumed', null, { by });
  }

  /** Ends the run and all of its steps that have not ended; failed ones stay failed. */
  cancel(by: string): void {
    for (const step of this.steps(['pending', 'running', 'waiting'])) this.#cancelStep(step);
    this.#next.status = 'cancelled';
    this.#emit('run.cancelled', null, { by });
  }

  /**
   * Updates the run itself from its steps, after each command: a run without running steps has no owner, and a new
   * status is emitted after the events that led to it. After a final status no event follows.
   */
  settle(): void {
    if (!isTerminal(this.#next.status)) this.#settleStatus(statusOf(this.#tally));
    const { running, waiting } = this.#tally;
    const { status, error } = this.#next;
    // What a caller cancels before it begins never does; what fails then has begun.
    const isBegun = status === 'cancelled' ? error !== null : status !== 'running';
    if (isBegun || running + waiting > 0) this.#next.begunAt ??= this.facts.now;
    if (this.#tally.running === 0) this.#next.owner = null;
  }

  #settleStatus(status: Exclude<RunStatus, 'cancelled'>): void {
    if (status === this.#next.status) return;
    this.#next.status = status;
    const data: JsonObject = status === 'paused' ? { error: { ...this.#next.error } } : {};
    this.#emit(STATUS_EVENTS[status], null, data);
    if (status === 'paused' && this.facts.endsOnFailure) this.cancel(SYSTEM);
  }

  #cancelStep(step: StepState): void {
    this.#write({ ...step, status: 'cancelled', readyAt: null, completedAt: this.facts.now });
    this.#emit('step.cancelled', step, deliveryOf(step));
  }

  /**
   * The next state, one revision further, with its events; or, if nothing changed, the same object that the transition
   * began with.
   */
  close(): { readonly state: RunState; readonly events: readonly NewEvent[] } {
    const { steps, status, revision, completedAt } = this.#before;
    const { now } = this.facts;
    const next = this.#next;
    if (next.steps === steps && next.status === status) return { state: this.#before, events: this.#events };
    const state = {
      ...next,
      revision: revision + 1,
      wakeAt: wakeAt(next, this.#tally, now),
      completedAt: isTerminal(next.status) ? (completedAt ?? now) : null,
      updatedAt: now,
    };
    return { state, events: this.#events };
  }

  /** Writes a step, new or changed. The steps are copied with the first write. */
  #write(step: StepState): void {
    if (this.#next.steps === this.#before.steps) this.#next.steps = new Map(this.#before.steps);
    const steps = this.#next.steps as Map<string, StepState>;
    const old = steps.get(step.nodeId);
    if (old !== undefined) count(this.#tally, old, -1);
    count(this.#tally, step, 1);
    steps.set(step.nodeId, step);
  }

  /** @param step null for an event of the run */
  #emit(type: RunEventType, step: StepState | null, data: JsonObject = {}): void {
    this.#next.seq += 1;
    const { nodeId = null, id: stepId = null } = step ?? {};
    this.#events.push({ seq: this.#next.seq, type, nodeId, stepId, data, createdAt: this.facts.now });
  }

  /** One `warning` for each reference of a template that led nowhere. */
  #warn(step: StepState, { missing }: Filled): void {
    for (const reference of missing) this.#emit('warning', step, { reference, node: step.nodeId });
  }

  /** The data of the run for conditions and templates, as they stand now. */
  #data(): RunData {
    const { input, variables, steps } = this.#next;
    // Only completed steps have an output.
    return { input, variables, output: (nodeId) => steps.get(nodeId)?.output ?? undefined };
  }

  /** Marks the nodes that a completed or skipped node leads to as to be decided. */
  #leadOn({ outgoing }: CompiledNode): void {
    const { nodes, edges } = this.graph;
    for (const index of outgoing) insert(this.#undecided, nodes.get(edges[index]!.to)!);
  }
}

/** Inserts a node where it belongs, unless it is there. */
function insert(nodes: CompiledNode[], node: CompiledNode): void {
  let low = 0;
  let high = nodes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (nodes[middle]!.rank > node.rank) low = middle + 1;
    else high = middle;
  }
  if (nodes[low] !== node) nodes.splice(low, 0, node);
}

/** Which delivery a step's event belongs to, and what its worker recorded of it. */
function deliveryOf({ attempt, delivery }: StepState, record?: JsonObject): JsonObject {
  return { attempt, delivery, ...(record === undefined ? {} : { record }) };
}
