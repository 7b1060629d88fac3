import type { StepResult } from '../../contract/node-types.ts';
import type { RunState, StepState } from '../core/state.ts';
import type { CompiledGraph } from '../graph/compiled-graph.ts';
import { Effect } from './effect.ts';
import type { RunnerCore } from './runner-core.ts';
import type { Ending } from './step-result.ts';

/**
 * What of one run is in the hands of this process: the deliveries that are carried out, and those that have ended until that is stored. Each one
 * that is carried out holds a place of its tenant.
 */
export class Hand {
  readonly #core: RunnerCore;
  readonly #tenantId: string;
  readonly #ended: (effect: Effect, ending: Ending, also: StepResult['also']) => void;
  /** By step. */
  readonly #effects = new Map<string, Effect>();

  constructor(
    core: RunnerCore,
    tenantId: string,
    ended: (effect: Effect, ending: Ending, also: StepResult['also']) => void,
  ) {
    this.#core = core;
    this.#tenantId = tenantId;
    this.#ended = ended;
  }

  get isEmpty(): boolean {
    return this.#effects.size === 0;
  }

  /** Steps that the worker owns in this state, and that are not in our hands. */
  missing({ owner, steps }: RunState, worker: string | undefined): readonly StepState[] {
    const missing: StepState[] = [];
    if (worker === undefined || owner !== worker) return missing;
    for (const step of steps.values()) {
      if (step.status === 'running' && !this.#effects.get(step.id)?.is(step)) missing.push(step);
    }
    return missing;
  }

  /** Stops what is not to be done any more: the step is over, or somebody else's. */
  stopOthers({ steps }: RunState): void {
    if (this.#effects.size === 0) return;
    const kept = new Set<Effect>();
    for (const step of steps.values()) {
      const effect = this.#effects.get(step.id);
      if (step.status === 'running' && effect?.is(step)) kept.add(effect);
    }
    if (kept.size === this.#effects.size) return;
    for (const effect of this.#effects.values()) {
      if (!kept.has(effect)) this.#stop(effect, 'The step was cancelled, or given to somebody else');
    }
  }

  /** Begins a delivery, which has its place already. */
  begin(run: RunState, step: StepState, graph: CompiledGraph): void {
    const effect = new Effect(this.#core, step);
    this.#effects.set(step.id, effect);
    effect.begin(run, step, graph.nodes.get(step.nodeId)!, this);
  }

  /** Takes a delivery only to give it back. */
  refuse(step: StepState): Effect {
    const effect = Effect.notBegun(this.#core, step);
    this.#effects.set(step.id, effect);
    return effect;
  }

  /** Its end is stored, or came too late. */
  settled(effect: Effect): void {
    if (this.#effects.get(effect.fence.stepId) === effect) this.#effects.delete(effect.fence.stepId);
  }

  /** Stops all that is carried out; what has ended already stays. */
  forsake(reason: string): void {
    for (const effect of this.#effects.values()) {
      if (!effect.isOver) this.#stop(effect, reason);
    }
  }

  /** Stops all that is carried out, and gives what was stopped. It stays in our hands until it is given back. */
  interrupt(reason: string): readonly Effect[] {
    const stopped = [...this.#effects.values()].filter((effect) => effect.stop(reason));
    this.#core.places.giveBack(this.#tenantId, stopped.length);
    return stopped;
  }

  ended(effect: Effect, ending: Ending, also: StepResult['also']): void {
    this.#core.places.giveBack(this.#tenantId, 1);
    this.#ended(effect, ending, also);
  }

  #stop(effect: Effect, reason: string): void {
    if (effect.stop(reason)) this.#core.places.giveBack(this.#tenantId, 1);
    this.settled(effect);
  }
}
