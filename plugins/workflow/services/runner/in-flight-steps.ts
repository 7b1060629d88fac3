import type { RunState, StepState } from '../core/state.ts';
import type { Mailbox } from './mailbox.ts';
import type { RunnerCore } from './runner-core.ts';
import { StepCall } from './step-call.ts';

/**
 * The steps of one run that this process carries out, and ended ones until their end is stored. Each step that is
 * carried out holds a slot of its tenant. The result of a call goes into the mailbox of the run.
 */
export class InFlightSteps {
  readonly #core: RunnerCore;
  readonly #slots: ReservedSlots;
  readonly #mailbox: Pick<Mailbox, 'ended'>;
  readonly #ended: () => void;
  /** By step. */
  readonly #calls = new Map<string, StepCall>();

  /** @param ended called when a call has ended without being stopped, and its slot is free */
  constructor(core: RunnerCore, slots: ReservedSlots, mailbox: Pick<Mailbox, 'ended'>, ended: () => void) {
    this.#core = core;
    this.#slots = slots;
    this.#mailbox = mailbox;
    this.#ended = ended;
  }

  get isEmpty(): boolean {
    return this.#calls.size === 0;
  }

  /** Steps that the worker owns in this state, and that are not in flight. */
  missing({ owner, steps }: RunState, worker: string | undefined): readonly StepState[] {
    if (worker === undefined || owner !== worker) return [];
    return [...steps.values().filter((step) => step.status === 'running' && !this.#callOf(step))];
  }

  /** Begins claimed steps, for which slots are kept. Steps that must not begin here are given back. */
  begin(run: RunState, claimed: readonly StepState[]): void {
    for (const step of claimed) {
      const call = new StepCall(this.#core, step);
      this.#calls.set(step.id, call);
      if (this.#core.claimant === undefined || !this.#slots.spend()) {
        this.#mailbox.ended(call, { type: 'released', fence: call.fence });
        continue;
      }
      call.begin(run, step, (ending, also) => {
        this.#slots.freeOne();
        this.#mailbox.ended(call, ending, also);
        this.#ended();
      });
    }
    this.#slots.giveBackKept();
  }

  /** Stops calls whose step is over, or belongs to another worker. */
  stopOthers({ steps }: RunState): void {
    if (this.#calls.size === 0) return;
    const running = steps.values().filter(({ status }) => status === 'running');
    const kept = new Set(running.map((step) => this.#callOf(step)));
    for (const call of this.#calls.values()) {
      if (!kept.has(call)) this.#drop(call, 'The step was cancelled, or given to another worker');
    }
  }

  /** The result of a call is stored, or came too late. */
  settled(call: StepCall): void {
    if (this.#calls.get(call.fence.stepId) === call) this.#calls.delete(call.fence.stepId);
  }

  /** Stops all calls in progress; those that have ended already stay. */
  abandon(reason: string): void {
    for (const call of this.#calls.values()) {
      if (!call.isOver) this.#drop(call, reason);
    }
  }

  /** Stops all calls in progress, to give their steps back. These stay in flight until that is stored. */
  release(reason: string): void {
    const stopped = [...this.#calls.values()].filter((call) => call.stop(reason));
    for (const call of stopped) {
      this.#slots.freeOne();
      this.#mailbox.ended(call, { type: 'released', fence: call.fence });
    }
  }

  /** The call that carries out this very delivery. */
  #callOf(step: StepState): StepCall | undefined {
    const call = this.#calls.get(step.id);
    return call?.is(step) ? call : undefined;
  }

  #drop(call: StepCall, reason: string): void {
    if (call.stop(reason)) this.#slots.freeOne();
    this.settled(call);
  }
}

/** The slots that one run holds for steps which are not begun yet. Slots that are given back go to waiting runs. */
export class ReservedSlots {
  readonly #core: Pick<RunnerCore, 'slots' | 'slotsFreed'>;
  readonly #tenantId: string;
  /** Slots taken before it is known for which steps. */
  #granted = 0;
  /** Slots for steps that a commit claims which may or may not be stored. */
  #kept = 0;

  constructor(core: Pick<RunnerCore, 'slots' | 'slotsFreed'>, tenantId: string) {
    this.#core = core;
    this.#tenantId = tenantId;
  }

  get hasKept(): boolean {
    return this.#kept > 0;
  }

  /** How many steps may be claimed now: the slots that the run holds already, plus those that the tenant may take. */
  get room(): number {
    return this.#granted + this.#core.slots.roomFor(this.#tenantId);
  }

  /** Slots were taken for the run. */
  grant(count: number): void {
    this.#granted += count;
  }

  /** Keeps a slot for each of `claimed` steps, and gives back further granted ones. */
  keep(claimed: number): void {
    this.#core.slots.take(this.#tenantId, Math.max(0, claimed - this.#granted));
    this.#granted = Math.max(0, this.#granted - claimed);
    this.#kept += claimed;
    this.giveBackGranted();
  }

  /** Takes free slots, as far as there are any, for those of `claimed` steps that have none. */
  takeFor(claimed: number): void {
    const more = Math.min(Math.max(0, claimed - this.#kept), this.#core.slots.free);
    this.#core.slots.take(this.#tenantId, more);
    this.#kept += more;
  }

  /** Hands one of the kept slots to a step that begins; false when there is none. */
  spend(): boolean {
    if (this.#kept === 0) return false;
    this.#kept -= 1;
    return true;
  }

  /**
   * The slot of a step that has ended is free. Runs that wait do not get it yet: the next step of this run is
   * considered before.
   */
  freeOne(): void {
    this.#core.slots.giveBack(this.#tenantId, 1);
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
