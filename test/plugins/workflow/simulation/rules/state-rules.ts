import { isDeepStrictEqual } from 'node:util';
import type { RunStatus, StepStatus } from '../../../../../plugins/workflow/contract.ts';
import type { RunState, StepState } from '../../../../../plugins/workflow/services/core/state.ts';
import type { StoredWrite } from '../memory-store.ts';

/**
 * What a step may become in one write. A write may join several transitions: `running → running` is a redelivery,
 * `failed → running` a retry.
 */
const NEXT: Readonly<Record<StepStatus | 'none', readonly StepStatus[]>> = {
  none: ['pending', 'running', 'waiting', 'completed', 'failed', 'skipped', 'cancelled'],
  // `pending → waiting` is a human task that was reached while the run was paused.
  pending: ['pending', 'running', 'waiting', 'failed', 'cancelled'],
  running: ['running', 'pending', 'completed', 'failed', 'cancelled'],
  waiting: ['completed', 'failed', 'cancelled'],
  failed: ['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled'],
  completed: [],
  skipped: [],
  cancelled: [],
};

/** What is known beside a write. */
export interface Known {
  /** What the store's clock shows. */
  readonly now: number;
  /** Milliseconds that the writer's idea of it may have been off. */
  readonly clockErrorMs: number;
  /** How often an attempt may be lost and go on. */
  readonly maxLost: number;
}

/** Says what is wrong with one write, whoever made it. */
export function checkState(write: StoredWrite, known: Known): string[] {
  const { maxLost } = known;
  const { before, after, events, believed } = write;
  const state = after.state;
  const wrong: string[] = [];

  if (before === undefined) {
    if (state.seq !== events.length)
      wrong.push(`a new run counts ${state.seq} events and has ${events.length}`);
  } else {
    if (state.revision !== before.state.revision + 1) {
      wrong.push(`the revision went from ${before.state.revision} to ${state.revision}`);
    }
    if (isFinal(before.state.status)) wrong.push(`a run that is ${before.state.status} was written`);
    if (!isSame(believed!, before.state)) wrong.push('the write was computed from what is not stored');
  }
  events.forEach((event, index) => {
    const expected = (before?.state.seq ?? 0) + index + 1;
    if (event.seq !== expected) wrong.push(`event ${event.seq} was written where ${expected} comes next`);
  });
  if (after.events.length !== state.seq) wrong.push(`${after.events.length} events, seq is ${state.seq}`);

  const ids = new Set([...state.steps.values()].map((step) => step.id));
  if (ids.size !== state.steps.size) wrong.push('two steps have one id');
  for (const step of before?.state.steps.values() ?? []) {
    if (!state.steps.has(step.nodeId)) wrong.push(`step ${step.nodeId} is gone`);
  }
  for (const step of state.steps.values()) {
    wrong.push(...checkStep(before?.state.steps.get(step.nodeId), step, maxLost));
  }
  const stayedPaused = before?.state.status === 'paused' && state.status === 'paused';
  if (stayedPaused && events.every(({ type }) => type !== 'run.resumed')) {
    const opened = events.filter(({ type }) => type === 'task.created');
    if (opened.length > 0) wrong.push(`a paused run opened ${opened.map(({ nodeId }) => nodeId)}`);
  }

  const has = (status: StepStatus) => [...state.steps.values()].some((step) => step.status === status);
  const expected = statusOf(has);
  if (state.status !== 'cancelled' && state.status !== expected) {
    wrong.push(`the run is ${state.status}, its steps say ${expected}`);
  }
  if (isFinal(state.status) && (has('running') || has('pending') || has('waiting'))) {
    wrong.push(`a run that is ${state.status} has open steps`);
  }
  if (isFinal(state.status) !== (state.completedAt !== null))
    wrong.push('completedAt does not fit the status');
  if ((state.owner !== null) !== has('running')) {
    wrong.push(`the owner is ${state.owner} and ${has('running') ? 'steps are' : 'no step is'} running`);
  }
  wrong.push(...checkWakeAt(state, known));
  return wrong;
}

/** Whether nothing can happen to a run any more. */
export function isFinal(status: RunStatus): boolean {
  return status === 'completed' || status === 'cancelled';
}

function checkStep(before: StepState | undefined, step: StepState, maxLost: number): string[] {
  const wrong: string[] = [];
  if (before !== undefined && isDeepStrictEqual(before, step)) return wrong;
  const name = `step ${step.nodeId}`;
  if (!NEXT[before?.status ?? 'none'].includes(step.status)) {
    wrong.push(`${name} went from ${before?.status} to ${step.status}`);
  }
  if (step.lost > (step.status === 'failed' ? maxLost + 1 : maxLost))
    wrong.push(`${name} was lost ${step.lost} times in attempt ${step.attempt}`);
  if (step.status === 'completed' && step.taken === null) wrong.push(`${name} completed without a decision`);
  if (step.status === 'running' && (step.delivery < 1 || step.input === null || step.startedAt === null)) {
    wrong.push(`${name} runs without delivery, input or start`);
  }
  if (before === undefined) return wrong;
  if (before.id !== step.id) wrong.push(`${name} has another id`);
  const [older, newer] = [before, step].map(({ attempt, delivery }) => attempt * 1000 + delivery);
  if (newer! < older!) wrong.push(`${name} went back from ${older} to ${newer} (attempt * 1000 + delivery)`);
  if (before.attempt === step.attempt) {
    if (step.lost < before.lost) wrong.push(`${name} forgot losses`);
    if (before.input !== null && !isDeepStrictEqual(before.input, step.input)) {
      wrong.push(`${name} changed the input of an attempt`);
    }
  }
  return wrong;
}

/** Somebody has to look at a run that has open work and no owner, and whenever a task times out. */
function checkWakeAt(state: RunState, { now, clockErrorMs }: Known): string[] {
  let latest = Number.POSITIVE_INFINITY;
  for (const step of state.steps.values()) {
    if (step.status === 'waiting' && step.dueAt !== null) latest = Math.min(latest, step.dueAt);
    if (step.status === 'pending' && state.status !== 'paused' && state.owner === null) {
      latest = Math.min(latest, Math.max(now + clockErrorMs, step.readyAt ?? now));
    }
  }
  if (latest === Number.POSITIVE_INFINITY || (state.wakeAt !== null && state.wakeAt <= latest)) return [];
  return [`wakeAt is ${state.wakeAt}, somebody has to look at ${latest}`];
}

function statusOf(has: (status: StepStatus) => boolean): RunStatus {
  if (has('failed')) return 'paused';
  if (has('pending') || has('running')) return 'running';
  return has('waiting') ? 'waiting' : 'completed';
}

function isSame(one: RunState, other: RunState): boolean {
  const { steps, ...rest } = one;
  const { steps: others, ...otherRest } = other;
  if (steps.size !== others.size || !isDeepStrictEqual(rest, otherRest)) return false;
  return [...steps].every(([nodeId, step]) => isDeepStrictEqual(step, others.get(nodeId)));
}
