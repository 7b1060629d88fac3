import type { StepResult } from '../../contract/node-types.ts';
import type { RunState, StepState } from '../core/run-state.ts';
import type { CompiledGraph } from '../graph/compiled-graph.ts';
import type { RunnerCore } from './runner.ts';
import { type Ending, StepCall } from './step-call.ts';

/**
 * What of one run is in the hands of this process: the deliveries that are carried out, and those that have ended until that is stored. Each one
 * that is carried out holds a place of its tenant.
 */
export class InFlightSteps {
  readonly #core: RunnerCore;
  readonly #tenantId: string;
  readonly #ended: (effect: StepCall, ending: Ending, also: StepResult['also']) => void;
  /** By step. */
  readonly #effects = new Map<string, StepCall>();

  constructor(
    core: RunnerCore,
    tenantId: string,
    ended: (effect: StepCall, ending: Ending, also: StepResult['also']) => void,
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
    const kept = new Set<StepCall>();
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
    const effect = new StepCall(this.#core, step);
    this.#effects.set(step.id, effect);
    effect.begin(run, step, graph.nodes.get(step.nodeId)!, this);
  }

  /** Takes a delivery only to give it back. */
  refuse(step: StepState): StepCall {
    const effect = StepCall.notBegun(this.#core, step);
    this.#effects.set(step.id, effect);
    return effect;
  }

  /** Its end is stored, or came too late. */
  settled(effect: StepCall): void {
    if (this.#effects.get(effect.fence.stepId) === effect) this.#effects.delete(effect.fence.stepId);
  }

  /** Stops all that is carried out; what has ended already stays. */
  forsake(reason: string): void {
    for (const effect of this.#effects.values()) {
      if (!effect.isOver) this.#stop(effect, reason);
    }
  }

  /** Stops all that is carried out, and gives what was stopped. It stays in our hands until it is given back. */
  interrupt(reason: string): readonly StepCall[] {
    const stopped = [...this.#effects.values()].filter((effect) => effect.stop(reason));
    this.#core.slots.giveBack(this.#tenantId, stopped.length);
    return stopped;
  }

  ended(effect: StepCall, ending: Ending, also: StepResult['also']): void {
    this.#core.slots.giveBack(this.#tenantId, 1);
    this.#ended(effect, ending, also);
  }

  #stop(effect: StepCall, reason: string): void {
    if (effect.stop(reason)) this.#core.slots.giveBack(this.#tenantId, 1);
    this.settled(effect);
  }
}

/** The places that one run holds for steps which are not begun yet. What is given back goes to those who wait. */
export class ReservedSlots {
  readonly #core: RunnerCore;
  readonly #tenantId: string;
  /** Taken before it is known what they are for. */
  #granted = 0;
  /** For steps that a commit claims of which it is not known whether it is stored. */
  #kept = 0;

  constructor(core: RunnerCore, tenantId: string) {
    this.#core = core;
    this.#tenantId = tenantId;
  }

  get hasKept(): boolean {
    return this.#kept > 0;
  }

  /** Steps that may be claimed now: those that have a place already, and what the tenant may take. */
  get room(): number {
    const { slots, waiting } = this.#core;
    return this.#granted + slots.roomFor(this.#tenantId, waiting.tenants());
  }

  /** Places were taken for the run. */
  grant(count: number): void {
    this.#granted += count;
  }

  /** As many steps are claimed as have places already. */
  hold(count: number): void {
    this.#kept += count;
  }

  /** Has a place for each of so many claimed steps, and gives back what was granted beyond. */
  keep(claimed: number): void {
    this.#core.slots.take(this.#tenantId, Math.max(0, claimed - this.#granted));
    this.#granted = Math.max(0, this.#granted - claimed);
    this.#kept += claimed;
    this.giveBackGranted();
  }

  /** Of so many steps that turned out to be claimed, those without a place take one that is free, while there is one. */
  takeFor(claimed: number): void {
    const more = Math.min(Math.max(0, claimed - this.#kept), this.#core.slots.free);
    this.#core.slots.take(this.#tenantId, more);
    this.#kept += more;
  }

  /** Hands one of the kept places to a step that begins; false when there is none. */
  spend(): boolean {
    if (this.#kept === 0) return false;
    this.#kept -= 1;
    return true;
  }

  giveBackGranted(): void {
    const count = this.#granted;
    this.#granted = 0;
    this.#giveBack(count);
  }

  giveBackKept(): void {
    const count = this.#kept;
    this.#kept = 0;
    this.#giveBack(count);
  }

  #giveBack(count: number): void {
    if (count === 0) return;
    this.#core.slots.giveBack(this.#tenantId, count);
    this.#core.slotsFreed();
  }
}
