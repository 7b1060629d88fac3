import type { StepResult } from '../../contract/node-types.ts';
import type { Fence } from '../core/commands.ts';
import type { RunState, StepState } from '../core/state.ts';
import type { CompiledNode } from '../graph/compiled-graph.ts';
import type { DeliveryResult } from '../ports/runner-observer.ts';
import type { RunnerCore } from './runner-core.ts';
import { type Ending, endingAtDeadline, endingOf, endingOfError } from './step-result.ts';

/** Who hears of the end of an effect: once, and not at all when it was stopped. */
interface EffectOwner {
  ended(effect: Effect, ending: Ending, also: StepResult['also']): void;
}

/**
 * One delivery of one step in our hands: the call, its signal and its deadline. It is over at the first of: the call ends, the deadline comes, it is
 * stopped. A call that goes on after that is left alone, and what it brings is ignored.
 */
export class Effect {
  readonly fence: Fence;
  readonly nodeType: string;
  readonly #core: RunnerCore;
  readonly #began: number;
  #controller: AbortController | undefined;
  #cancelDeadline: (() => void) | undefined;
  #isOver = false;

  constructor(core: RunnerCore, { id, attempt, delivery, nodeType }: StepState) {
    this.#core = core;
    this.#began = core.timers.monotonic();
    this.fence = { stepId: id, attempt, delivery };
    this.nodeType = nodeType;
  }

  /** True once it holds no place any more; its result may still wait to be stored. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether it is this very delivery. */
  is({ attempt, delivery }: StepState): boolean {
    return this.fence.attempt === attempt && this.fence.delivery === delivery;
  }

  /** A delivery that was claimed and is not begun: it is given back. */
  static notBegun(core: RunnerCore, step: StepState): Effect {
    const effect = new Effect(core, step);
    effect.#isOver = true;
    return effect;
  }

  /** Begins the call, in this turn. */
  begin(run: RunState, step: StepState, node: CompiledNode, owner: EffectOwner): void {
    const { timers, limits, observer, counts } = this.#core;
    counts.running += 1;
    counts.begun += 1;
    const controller = new AbortController();
    this.#controller = controller;
    this.#cancelDeadline = timers.after(limits.stepTimeoutMs, () => {
      if (!this.#finish('timed-out')) return;
      this.#abandon(new DOMException('The time of the step is over', 'TimeoutError'));
      owner.ended(this, endingAtDeadline(this.fence, limits.stepTimeoutMs), undefined);
    });
    if (step.delivery > 1) observer.redelivered(step.nodeType);
    this.#call({ run, step, node, signal: controller.signal }).then(
      (result) => {
        if (this.#isOver) return observer.abandoned(-1);
        const ending = endingOf(this.fence, result);
        this.#finish(ending.type);
        owner.ended(this, ending, ending.type === 'succeeded' ? alsoOf(result) : undefined);
      },
      (error: unknown) => {
        if (this.#isOver) return observer.abandoned(-1);
        const ending = endingOfError(this.fence, error);
        this.#logDefect(run, step, ending, error);
        this.#finish('failed');
        owner.ended(this, ending, undefined);
      },
    );
  }

  /** Aborts the call, whose result counts no more. False when it was over. */
  stop(reason: string): boolean {
    if (!this.#finish('aborted')) return false;
    this.#abandon(new DOMException(reason, 'AbortError'));
    return true;
  }

  /** An executor may throw before it gives a promise. */
  async #call(work: Parameters<RunnerCore['execute']>[0]): Promise<StepResult> {
    return this.#core.execute(work);
  }

  #finish(result: DeliveryResult): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#cancelDeadline?.();
    const { observer, timers, counts } = this.#core;
    counts.running -= 1;
    observer.delivered(this.nodeType, result, timers.monotonic() - this.#began);
    return true;
  }

  /** It is counted until it ends; most end at once. */
  #abandon(reason: DOMException): void {
    this.#core.observer.abandoned(1);
    this.#controller?.abort(reason);
  }

  #logDefect({ id, tenantId }: RunState, step: StepState, ending: Ending, error: unknown): void {
    if (ending.type !== 'failed' || ending.error.code !== 'internal') return;
    const fields = { err: error, tenant_id: tenantId, run_id: id, step_id: step.id, node: step.nodeId };
    this.#core.log.error(fields, 'a step failed because of a defect');
  }
}

function alsoOf(result: StepResult): StepResult['also'] {
  return result.also === undefined ? undefined : (entities) => result.also!(entities);
}
