import type { RunPlace } from '../../contract/engine.ts';
import { advance } from '../core/advance.ts';
import type { Command, Facts } from '../core/commands.ts';
import type { RunState, StepState, TransitionResult } from '../core/state.ts';
import type { CompiledGraph } from '../graph/compiled-graph.ts';
import { CachedState } from './cached-state.ts';
import { InFlightSteps, ReservedSlots } from './in-flight-steps.ts';
import { Mailbox, type Message, piggybackedWrites, settle } from './mailbox.ts';
import { RetryState } from './retry-state.ts';
import { RunTimers } from './run-timers.ts';
import type { Answer } from './runner.ts';
import type { RunnerCore } from './runner-core.ts';

/**
 * A run that this process works on: the only place in this process where it is changed. Changes go into a mailbox; all
 * messages that arrived during a commit go into the next one, together with the claim of steps that become ready by it.
 * The object lives while it has messages or steps in flight.
 *
 * The loop: `#work` reads the run where that is needed (`#read`), else makes a transition (`#turn`): it takes a batch
 * of messages, advances the state, and commits it. If that fails, `RetryState` decides what is tried next, and when.
 */
export class LiveRun {
  readonly place: RunPlace;
  readonly #core: RunnerCore;
  readonly #left: (run: LiveRun) => void;
  readonly #mailbox: Mailbox;
  readonly #slots: ReservedSlots;
  readonly #steps: InFlightSteps;
  readonly #timers: RunTimers;
  readonly #retries: RetryState;
  readonly #cache: CachedState;
  #isBusy = false;
  /** A transition is due although there is no message: steps may be claimed. */
  #isClaimDue = false;

  /** @param left called when there is nothing left to do */
  constructor(core: RunnerCore, place: RunPlace, left: (run: LiveRun) => void) {
    this.place = place;
    this.#core = core;
    this.#left = left;
    this.#cache = new CachedState(core, place);
    this.#mailbox = new Mailbox(core.timers);
    this.#slots = new ReservedSlots(core, place.tenantId);
    this.#steps = new InFlightSteps(core, this.#slots, this.#mailbox, () => this.#stepEnded());
    this.#timers = new RunTimers(core, place, () => this.#claim());
    const parts = { mailbox: this.#mailbox, slots: this.#slots, cache: this.#cache };
    this.#retries = new RetryState(core, place, parts);
  }

  /** Revision of the state that is known here; undefined while none is known. */
  get revision(): number | undefined {
    return this.#cache.revision;
  }

  /** Whether steps of it are in flight here. */
  get hasSteps(): boolean {
    return !this.#steps.isEmpty;
  }

  /** Whether steps are in flight here and, as far as is known here, the run is `running`. */
  get isRunning(): boolean {
    return this.hasSteps && this.#cache.current?.status === 'running';
  }

  /** Applies a command. Undefined: there is no such run. Rejects after a bounded time when it cannot be stored. */
  ask(command: Command): Promise<Answer | undefined> {
    const answer = this.#mailbox.ask(command, this.#cache.moment);
    this.#go();
    return answer;
  }

  /**
   * Reads the run, and does what is due. False when that could not be done, or steps were left for lack of room.
   *
   * @param granted slots that were taken for it
   */
  poll(granted: number): Promise<boolean> {
    const polled = this.#mailbox.poll();
    this.#slots.grant(granted);
    this.refresh();
    return polled;
  }

  /** A slot was taken for the next step of a run that has steps in flight. */
  grant(): void {
    this.#slots.grant(1);
    this.#claim();
  }

  /** Another process has changed the run. */
  refresh(): void {
    this.#cache.invalidate();
    this.#go();
  }

  /**
   * Holds everything back until one of the next three calls: the run is being stored for the first time, with as many
   * steps claimed.
   */
  creating(claimed: number): void {
    this.#isBusy = true;
    this.#slots.keep(claimed);
  }

  /** The run is stored, in that state. */
  created(graph: CompiledGraph, { state, events }: Pick<TransitionResult, 'state' | 'events'>): void {
    const { metrics, committed, lease, clock } = this.#core;
    this.#cache.created(graph, state);
    metrics.committed('stored');
    committed(state, events);
    this.#steps.begin(state, this.#steps.missing(state, lease.worker));
    this.#timers.committed(undefined, state, clock.now());
    this.#proceed();
  }

  /** The run may or may not be stored, and may have changed since: it is read, and continued if it exists. */
  createdInDoubt(): void {
    this.#cache.invalidate();
    this.#retries.createdInDoubt();
    this.#proceed();
  }

  /** The run is not stored. */
  notCreated(): void {
    this.#slots.giveBackKept();
    this.#proceed();
  }

  /** All steps in flight may belong to other workers now. */
  leaseEnded(): void {
    this.#steps.abandon('The lease of the worker is over');
    this.#timers.cancel();
    if (!this.#isBusy) this.#rest();
  }

  /** Stops the steps in flight and gives them back. */
  release(): void {
    this.#steps.release('The gateway stops');
    this.#go();
  }

  /** Rejects all callers and polls that still wait. */
  giveUp(): void {
    const lost = this.#mailbox.giveUp();
    const { tenantId, runId } = this.place;
    const fields = { tenant_id: tenantId, run_id: runId, lost };
    if (lost > 0)
      this.#core.log.warn(fields, 'results could not be stored: the steps will be delivered again');
    this.#steps.abandon('The gateway stops');
    this.#go();
  }

  #stepEnded(): void {
    this.#go();
    // Only now, so that the next step of this run comes first if no other run waits.
    this.#core.slotsFreed();
  }

  #claim(): void {
    this.#isClaimDue = true;
    this.#go();
  }

  #go(): void {
    if (!this.#isBusy) this.#proceed();
  }

  #proceed(): void {
    if (this.#hasWork) void this.#work();
    else this.#rest();
  }

  get #hasWork(): boolean {
    if (this.#core.phase.isClosed) return false;
    if (!this.#mailbox.isEmpty || this.#isClaimDue) return true;
    return this.#cache.isStale && (this.hasSteps || this.#slots.hasKept);
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    while (this.#hasWork) {
      const { current } = this.#cache;
      if (current === undefined) await this.#read();
      else await this.#turn(current);
    }
    this.#rest();
  }

  #rest(): void {
    const isDone = !this.hasSteps || this.#core.phase.isClosed;
    // Slots that are given back may be granted again at once, also to this run: then it continues.
    this.#isBusy = true;
    this.#slots.giveBackGranted();
    if (isDone) this.#slots.giveBackKept();
    this.#isBusy = false;
    if (this.#hasWork) {
      void this.#work();
    } else if (isDone) {
      this.#timers.cancel();
      this.#left(this);
    }
  }

  async #read(): Promise<void> {
    let state: RunState | undefined;
    try {
      state = await this.#cache.read();
    } catch (error) {
      return this.#failed(error);
    }
    if (state === undefined) this.#isGone();
    else this.#follow(state);
  }

  #isGone(): void {
    for (const call of this.#mailbox.runIsGone()) this.#steps.settled(call);
    this.#steps.abandon('The run is not there any more');
    this.#slots.giveBackKept();
    this.#isClaimDue = false;
  }

  /** Adjusts the steps in flight to a state that was read. */
  #follow(state: RunState): void {
    const { lease, clock } = this.#core;
    this.#steps.stopOthers(state);
    const claimed = this.#steps.missing(state, lease.worker);
    // Claimed by a commit that may or may not have been stored. A step without a kept slot takes a free one.
    this.#slots.takeFor(claimed.length);
    this.#steps.begin(state, claimed);
    const now = clock.now();
    const { isInDoubt, isSuspicious } = this.#retries;
    if (isInDoubt) this.#timers.notify(undefined, state, now);
    this.#retries.clarified();
    // The next transition does not claim: ready steps are claimed after it.
    if (isSuspicious) this.#timers.watch(state, now);
    else if (this.hasSteps) this.#isClaimDue = true;
  }

  async #turn(before: RunState): Promise<void> {
    const { store, lease, sinksOf } = this.#core;
    const batch = this.#mailbox.take(before, this.#retries.isSuspicious);
    this.#isClaimDue = false;
    const facts = this.#core.facts();
    const { worker } = lease;
    const began = this.#cache.begin();
    let isSent = false;
    try {
      const transition = advance(this.#cache.graph, before, this.#commands(before, batch, facts), facts);
      const { state: after, events } = transition;
      if (after === before) return this.#unchanged(before, batch, transition, facts);
      const claimed = this.#steps.missing(after, worker);
      this.#slots.keep(claimed.length);
      isSent = true;
      const isStored = await store.commit({
        before,
        after,
        events,
        sinks: sinksOf(after.tenantId),
        also: piggybackedWrites(batch, transition),
      });
      if (!isStored) return await this.#retries.conflicted(batch);
      this.#cache.committed(after, began);
      this.#stored(before, batch, transition, worker === lease.worker ? claimed : []);
    } catch (error) {
      if (!this.#retries.rejected(batch, before, error, isSent)) await this.#failed(error);
    }
  }

  /** The batch's commands, a tick for timers, and the claim of the steps that are ready then. */
  #commands(before: RunState, batch: readonly Message[], { now }: Facts): Command[] {
    const commands = batch.map(({ command }) => command);
    if (before.wakeAt !== null && before.wakeAt <= now) commands.push({ type: 'tick' });
    const { claimant: worker } = this.#core;
    if (worker === undefined || (this.#retries.isSuspicious && batch.length > 0)) return commands;
    const { room } = this.#slots;
    if (room > 0) commands.push({ type: 'claim', worker, room });
    return commands;
  }

  #unchanged(
    before: RunState,
    batch: readonly Message[],
    { verdicts }: TransitionResult,
    { now }: Facts,
  ): void {
    this.#retries.recovered();
    const again = batch.filter((message, index) => {
      // A refusal must not be based on a state that is older than what the sender may have seen elsewhere.
      if (message.reply !== undefined && !this.#cache.isNewerThan(message.arrived)) return true;
      settle(this.#core, this.#steps, message, { state: before, verdict: verdicts[index]! });
      return false;
    });
    this.#mailbox.putBack(again);
    if (again.length > 0) this.#cache.invalidate();
    this.#slots.giveBackGranted();
    if (this.#mailbox.isPolled) this.#mailbox.polled(this.#timers.polled(before, now));
    this.#timers.watch(before, now);
  }

  #stored(
    before: RunState,
    batch: readonly Message[],
    { state, events, verdicts }: TransitionResult,
    claimed: readonly StepState[],
  ): void {
    const { metrics, committed, clock } = this.#core;
    // A command that was tried alone did not claim: that comes next.
    if (this.#retries.isSuspicious) this.#isClaimDue = true;
    this.#retries.recovered();
    metrics.committed('stored');
    committed(state, events);
    for (const [index, message] of batch.entries())
      settle(this.#core, this.#steps, message, { state, verdict: verdicts[index]! });
    this.#steps.stopOthers(state);
    this.#steps.begin(state, claimed);
    const now = clock.now();
    this.#timers.committed(before, state, now);
    this.#mailbox.polled(claimed.length > 0 || state.wakeAt === null || state.wakeAt > now);
  }

  /** Waits before the next try. */
  #failed(error: unknown): Promise<void> {
    this.#isClaimDue = false;
    return this.#retries.failed(error, () => this.#hasWork);
  }
}
