import { strict as assert } from 'node:assert';
import type { TaskCompletion } from '../../../../../plugins/workflow/contract/runs.ts';
import type { Command, Fence, Verdict } from '../../../../../plugins/workflow/services/core/commands.ts';
import type { Attempted } from './attempts.ts';
import { foldEvents } from './fold-events.ts';
import { graphOf, type Plan } from './plan.ts';
import { type Entry, RunModel } from './run-model.ts';
import { TestRun } from './test-run.ts';

/** What an attempt is to the engine, what must come of it, and what it is to the model where it has an effect. */
interface Trial {
  readonly command: Command;
  readonly verdict: Verdict;
  readonly entry?: Entry;
}

/** A run beside its model: each thing that is done to both must come out alike. */
export class RandomRun {
  readonly run: TestRun;
  readonly model: RunModel;
  readonly #fences: Fence[] = [];

  constructor(plan: Plan) {
    const maxDeliveries = 2;
    this.run = new TestRun(graphOf(plan), { limits: { maxDeliveries } });
    this.model = new RunModel(plan, maxDeliveries, this.run.now);
    this.check();
  }

  /** Tries something, and checks verdict, state and events against the model. */
  try(attempted: Attempted): void {
    if (attempted.try === 'pass') this.run.now += attempted.ms;
    else for (const trial of this.#trials(attempted)) this.#apply(trial);
  }

  /** Does all there is to do until nothing is left; fails when that takes more than it may. */
  finish(): void {
    const { run, model } = this;
    for (let round = 0; model.status !== 'completed' && model.status !== 'cancelled'; round += 1) {
      assert(round < 60, 'the run does not end');
      run.now += 100;
      if (model.status === 'paused') this.try({ try: 'retry' });
      if (model.owner !== null) this.#succeedAll();
      this.try({ try: 'claim', worker: 'w3', room: 9 });
      this.#succeedAll();
      for (const [node, { status }] of model.lives) {
        if (status !== 'waiting') continue;
        const edges = model.plan.edges.filter(({ from }) => from === node).map(({ when }) => when);
        const outcome = edges.find((one) => one.is === 'outcome')?.value;
        const pick = edges.find((one) => one.is === 'own')?.value ?? 0;
        const payload = {
          ...(outcome === undefined ? {} : { outcome }),
          output: { pick: Number(pick) },
        };
        this.#apply(this.#completion(node, payload));
      }
    }
  }

  /** Everything that is always true of a run. */
  check(): void {
    const { run, model } = this;
    const { state } = run;
    assert.equal(state.status, model.status);
    assert.equal(state.owner, model.owner);
    assert.deepEqual(state.variables, model.variables());
    assert.deepEqual([...state.steps.keys()].sort(), [...model.lives.keys()].sort());
    for (const [node, life] of model.lives) {
      const { status, attempt, delivery, lost, taken } = run.step(node);
      assert.deepEqual(
        { node, status, attempt, delivery, lost, taken: taken ?? [] },
        { node, ...pick(life), taken: life.taken },
      );
    }
    if (state.status === 'paused') assert(model.firstFailed.includes(state.error!.node!));
    else if (state.status !== 'cancelled') assert.equal(state.error, null);
    this.#checkWake();
    this.#checkEvents();
  }

  #checkWake(): void {
    const { now, state } = this.run;
    const wakes = this.model.wakes(now);
    if (wakes.length === 0 || this.model.status === 'cancelled') {
      assert.equal(state.wakeAt, null);
      return;
    }
    const first = Math.min(...wakes);
    // What was over when it was written is over still: nothing is missed, and who waits longest is seen first.
    if (first <= now) assert(state.wakeAt !== null && state.wakeAt <= now);
    else assert.equal(state.wakeAt, first);
  }

  #checkEvents(): void {
    const { events, state } = this.run;
    assert.deepEqual(
      events.map(({ seq }) => seq),
      events.map((_, index) => index + 1),
    );
    assert.equal(state.seq, events.length);
    const told = foldEvents(events);
    assert.equal(told.status, state.status);
    for (const [node, { status, delivery }] of state.steps) {
      // Nothing tells that a step waits for its delivery: the start of that delivery does.
      const isUntold = status === 'pending';
      const expected = isUntold ? (delivery > 0 ? 'running' : undefined) : status;
      assert.equal(told.steps.get(node), expected, node);
    }
    const ended = events.findIndex(({ type }) => type === 'run.completed' || type === 'run.cancelled');
    assert(ended === -1 || ended === events.length - 1);
  }

  #trials(attempted: Exclude<Attempted, { readonly try: 'pass' }>): readonly Trial[] {
    const { run, model } = this;
    const at = run.now;
    switch (attempted.try) {
      case 'claim': {
        const { worker, room } = attempted;
        const claimable = model.claimable(worker, at);
        const order = [...run.graph.nodes.keys()].filter((node) => claimable.includes(node));
        const nodes = order.slice(0, room);
        const entry = { at, did: 'claimed', nodes, worker } as const;
        return [trial({ type: 'claim', worker, room }, nodes.length > 0, entry)];
      }
      case 'succeed':
        return this.#running(attempted.which).map(({ node, fence }) => {
          const output = { pick: attempted.pick };
          return trial({ type: 'succeeded', fence, output }, true, { at, did: 'succeeded', node, output });
        });
      case 'fail':
        return this.#running(attempted.which).map(({ node, fence }) => {
          const { isRetryable } = attempted;
          const entry = { at, did: 'failed', node, isRetryable } as const;
          return trial({ type: 'failed', fence, error: ERROR, isRetryable }, true, entry);
        });
      case 'release':
        return this.#running(attempted.which).map(({ node, fence }) =>
          trial({ type: 'released', fence }, true, { at, did: 'released', node }),
        );
      case 'late': {
        const over = this.#fences.filter((fence) => !this.#isCurrent(fence));
        const fence = over[attempted.which % over.length];
        if (fence === undefined) return [];
        return [
          trial({ type: 'succeeded', fence, output: { pick: 0 } }, false),
          trial({ type: 'failed', fence, error: ERROR, isRetryable: true }, false),
          trial({ type: 'released', fence }, false),
        ];
      }
      case 'lose': {
        const { worker } = attempted;
        return [trial({ type: 'worker_lost', worker }, model.owner === worker, { at, did: 'lost' })];
      }
      case 'complete': {
        const nodes = [...model.lives.keys()].filter((node) => !/^(start|end)/.test(node));
        const tasks = nodes.filter((node) => model.life(node)!.status === 'waiting');
        // Mostly tasks that wait; each fourth time whatever there is.
        const candidates = tasks.length > 0 && attempted.which % 4 !== 0 ? tasks : nodes;
        const node = candidates[attempted.which % candidates.length];
        return node === undefined ? [] : [this.#completion(node, attempted.payload)];
      }
      case 'tick': {
        const isDue = [...model.lives.values()].some((life) => life.status === 'waiting' && life.dueAt <= at);
        return [trial({ type: 'tick' }, isDue, { at, did: 'ticked' })];
      }
      case 'retry': {
        const isPaused = model.status === 'paused';
        return [trial({ type: 'retry', by: 'anna' }, isPaused, { at, did: 'retried' }, 'not-paused')];
      }
      case 'cancel': {
        const isOpen = model.status !== 'completed' && model.status !== 'cancelled';
        const refusal = model.status === 'completed' ? 'already-completed' : 'unchanged';
        return [trial({ type: 'cancel', by: 'anna' }, isOpen, { at, did: 'cancelled' }, refusal)];
      }
    }
  }

  #completion(node: string, payload: TaskCompletion): Trial {
    const { run, model } = this;
    const life = model.life(node)!;
    const command = { type: 'task_completed', stepId: run.step(node).id, by: 'bob', payload } as const;
    if (life.payload !== undefined) {
      const isSame = canonical(life.payload) === canonical(payload);
      return { command, verdict: isSame ? 'unchanged' : 'task-completed-otherwise' };
    }
    if (life.status !== 'waiting') return { command, verdict: 'task-not-open' };
    const variables = { ...model.variables(), ...payload.variables };
    const taken = model.route(node, payload.outcome, payload.output ?? {}, variables);
    const entry = { at: run.now, did: 'completed', node, payload } as const;
    return trial(command, taken.length > 0, entry, 'outcome-not-routable');
  }

  #succeedAll(): void {
    const { model, run } = this;
    for (const [node, { status }] of model.lives) {
      if (status !== 'running') continue;
      const own = model.plan.edges.find(({ from, when }) => from === node && when.is === 'own')?.when;
      const output = { pick: own?.is === 'own' ? own.value : 0 };
      const command = { type: 'succeeded', fence: run.fence(node), output } as const;
      this.#apply(trial(command, true, { at: run.now, did: 'succeeded', node, output }));
    }
  }

  #apply({ command, verdict, entry }: Trial): void {
    const { run } = this;
    const before = run.state;
    const steps = [...before.steps.values()];
    const { length } = run.events;
    assert.deepEqual(run.apply(command), [verdict], JSON.stringify(command));
    assert.deepEqual([...before.steps.values()], steps, 'the state before is changed');
    if (entry === undefined) {
      assert.equal(run.state, before);
      assert.equal(run.events.length, length);
    } else {
      assert.equal(run.state.revision, before.revision + 1);
      this.model.log.push(entry);
      if (entry.did === 'claimed') this.#note(entry.nodes);
    }
    this.check();
  }

  #note(claimed: readonly string[]): void {
    for (const node of claimed) {
      const fence = this.run.fence(node);
      const isKnown = this.#fences.some((one) => JSON.stringify(one) === JSON.stringify(fence));
      assert(!isKnown, 'a fence is used twice');
      this.#fences.push(fence);
    }
  }

  #running(number: number): readonly { readonly node: string; readonly fence: Fence }[] {
    const running = [...this.run.state.steps.values()].filter(({ status }) => status === 'running');
    const step = running[number % running.length];
    return step === undefined ? [] : [{ node: step.nodeId, fence: this.run.fence(step.nodeId) }];
  }

  #isCurrent(fence: Fence): boolean {
    const step = [...this.run.state.steps.values()].find(({ id }) => id === fence.stepId)!;
    const { status, attempt, delivery } = this.model.life(step.nodeId)!;
    return status === 'running' && attempt === fence.attempt && delivery === fence.delivery;
  }
}

const ERROR = { code: 'broken', message: 'It is broken.' };

function trial(command: Command, isApplied: boolean, entry?: Entry, refusal: Verdict = 'unchanged'): Trial {
  return isApplied ? { command, verdict: 'applied', entry } : { command, verdict: refusal };
}

function pick({ status, attempt, delivery, lost }: ReturnType<RunModel['life']> & {}) {
  return { status, attempt, delivery, lost };
}

function canonical({ outcome, output, variables }: TaskCompletion): string {
  return JSON.stringify([
    outcome ?? 0,
    output?.pick ?? 0,
    output ? 1 : 0,
    variables?.way ?? 0,
    variables ? 1 : 0,
  ]);
}
