import { type RunPlace, WorkflowErrors } from '../../contract/engine.ts';
import type { StepResult } from '../../contract/node-types.ts';
import { advance } from '../core/advance.ts';
import type { Command, Facts, TransitionResult } from '../core/commands.ts';
import type { RunState, StepState } from '../core/state.ts';
import type { CompiledGraph } from '../graph/compiled-graph.ts';
import { alsoOf } from './also.ts';
import type { Effect } from './effect.ts';
import { Entries } from './entries.ts';
import { type Answer, Asker, type Entry } from './entry.ts';
import { Hand } from './hand.ts';
import { LocalCopy } from './local-copy.ts';
import { Lookers } from './lookers.ts';
import { Outlook } from './outlook.ts';
import type { RunnerCore } from './runner-core.ts';
import { Setbacks } from './setbacks.ts';
import { settle } from './settling.ts';
import { Stake } from './stake.ts';
import type { Ending } from './step-result.ts';

/** Those who may ask for changes of one run at the same time. */
const MAX_ASKERS = 1_000;

/**
 * A run that this process has to do with: the one place where it is changed here. What happens to it is queued; everything that came while a
 * commit was under way goes into the next one, together with the claim of what becomes ready by it. It lives while something is queued or in hand.
 */
export class LiveRun {
  readonly place: RunPlace;
  readonly #core: RunnerCore;
  readonly #left: (run: LiveRun) => void;
  readonly #hand: Hand;
  readonly #outlook: Outlook;
  readonly #stake: Stake;
  readonly #entries = new Entries();
  readonly #lookers = new Lookers();
  readonly #setbacks = new Setbacks();
  readonly #copy: LocalCopy;
  #isBusy = false;
  /** A transition is due although nothing is queued: steps may be claimed. */
  #isWanted = false;

  /** @param left called when it has nothing to do any more */
  constructor(core: RunnerCore, place: RunPlace, left: (run: LiveRun) => void) {
    this.#core = core;
    this.place = place;
    this.#left = left;
    this.#hand = new Hand(core, place.tenantId, (effect, ending, also) => this.#ended(effect, ending, also));
    this.#stake = new Stake(core, place.tenantId);
    this.#outlook = new Outlook(core, place, () => this.#claim());
    this.#copy = new LocalCopy(core, place);
  }

  /** Of the state that is known here; undefined while none is. */
  get revision(): number | undefined {
    return this.#copy.revision;
  }

  /** Whether steps of it are in hand. */
  get isInHand(): boolean {
    return !this.#hand.isEmpty;
  }

  /** Whether steps are in hand and, as far as is known here, the run is `running`. */
  get isRunning(): boolean {
    return this.isInHand && this.#copy.current?.status === 'running';
  }

  /** Applies what somebody did. Undefined: there is no such run. Rejects after a bounded time when it cannot be stored. */
  ask(occurrence: Command): Promise<Answer | undefined> {
    if (this.#entries.size >= MAX_ASKERS) return Promise.reject(WorkflowErrors.busy());
    const asker = new Asker<Answer | undefined>(this.#core.timers);
    this.#add({ occurrence, asker });
    this.#go();
    return asker.answer;
  }

  /**
   * Reads the run, and does what is due. False when that could not be done, or steps were left for lack of room.
   *
   * @param granted places that were taken for it
   */
  look(granted: number): Promise<boolean> {
    const looked = this.#lookers.wait();
    this.#stake.grant(granted);
    this.refresh();
    return looked;
  }

  /** A place was taken for the next step of a run that is in hand. */
  grant(): void {
    this.#stake.grant(1);
    this.#claim();
  }

  /** Somebody else has changed the run. */
  refresh(): void {
    this.#copy.invalidate();
    this.#go();
  }

  /** Holds everything back until `opened`: the run is being stored for the first time. */
  opening(claimed: number): void {
    this.#isBusy = true;
    this.#stake.hold(claimed);
  }

  /** The run is stored, in that state. */
  opened(graph: CompiledGraph, { state, events }: Pick<TransitionResult, 'state' | 'events'>): void {
    const { observer, committed, heartbeat, clock } = this.#core;
    this.#copy.created(graph, state);
    observer.committed('stored');
    committed(state, events);
    this.#beginClaimed(state, this.#hand.missing(state, heartbeat.worker));
    const now = clock.now();
    this.#outlook.changed(undefined, state, now);
    this.#outlook.watch(state, now);
    this.#proceed();
  }

  /** The run may be stored or not, and may have gone on: what is there is carried on. */
  openedInDoubt(): void {
    this.#copy.invalidate();
    this.#setbacks.startedInDoubt();
    this.#proceed();
  }

  /** The run is not stored. */
  notOpened(): void {
    this.#stake.giveBackKept();
    this.#proceed();
  }

  /** Everything in hand belongs to others now. */
  forsake(): void {
    this.#hand.forsake('The lease of the worker is over');
    this.#outlook.forget();
    if (!this.#isBusy) this.#rest();
  }

  /** Stops what is carried out and gives it back. */
  release(): void {
    for (const effect of this.#hand.interrupt('The gateway stops')) this.#giveBack(effect);
    this.#go();
  }

  /** Ends whatever is still waited for. */
  giveUp(): void {
    const lost = this.#entries.giveUp();
    const { tenantId, runId } = this.place;
    const fields = { tenant_id: tenantId, run_id: runId, lost };
    if (lost > 0)
      this.#core.log.warn(fields, 'results could not be stored: the steps will be delivered again');
    this.#hand.forsake('The gateway stops');
    this.#lookers.tell(false);
    this.#go();
  }

  #ended(effect: Effect, ending: Ending, also: StepResult['also']): void {
    this.#add({ occurrence: ending, effect, also });
    this.#go();
    // After the next step of this run was considered, which comes first where nobody else waits.
    this.#core.placesFreed();
  }

  #giveBack(effect: Effect): void {
    this.#add({ occurrence: { type: 'released', fence: effect.fence }, effect });
  }

  #claim(): void {
    this.#isWanted = true;
    this.#go();
  }

  #add(entry: Pick<Entry, 'occurrence' | 'effect' | 'asker' | 'also'>): void {
    this.#entries.add({ ...entry, arrived: this.#copy.moment, conflicts: 0, rejections: 0 });
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
    if (this.#entries.size > 0 || this.#isWanted || !this.#lookers.isEmpty) return true;
    return this.#copy.isStale && (!this.#hand.isEmpty || this.#stake.hasKept);
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    while (this.#hasWork) {
      const { current } = this.#copy;
      if (current === undefined) await this.#read();
      else await this.#turn(current);
    }
    this.#rest();
  }

  #rest(): void {
    const isDone = this.#hand.isEmpty || this.#core.phase.isClosed;
    // Places that are given back may come back at once, to this run too: then it goes on.
    this.#isBusy = true;
    this.#stake.giveBackGranted();
    if (isDone) this.#stake.giveBackKept();
    this.#isBusy = false;
    if (this.#hasWork) {
      void this.#work();
    } else if (isDone) {
      this.#outlook.forget();
      this.#left(this);
    }
  }

  async #read(): Promise<void> {
    let state: RunState | undefined;
    try {
      state = await this.#copy.read();
    } catch (error) {
      return this.#failed(error);
    }
    if (state === undefined) this.#notThere();
    else this.#meet(state);
  }

  #notThere(): void {
    for (const effect of this.#entries.tellNotThere()) this.#hand.settled(effect);
    this.#lookers.tell(true);
    this.#hand.forsake('The run is not there any more');
    this.#stake.giveBackKept();
    this.#isWanted = false;
  }

  /** Adjusts what is in hand to what was read. */
  #meet(state: RunState): void {
    this.#hand.stopOthers(state);
    const claimed = this.#hand.missing(state, this.#core.heartbeat.worker);
    // Claimed by a commit of which it was not known whether it was stored. Where no place was kept for it, it takes one that is free.
    this.#stake.takeFor(claimed.length);
    this.#beginClaimed(state, claimed);
    const now = this.#core.clock.now();
    const { isInDoubt, isSuspicious } = this.#setbacks;
    if (isInDoubt) this.#outlook.changed(undefined, state, now);
    this.#setbacks.clarified();
    // The next transition does not claim: what is ready gets its turn after it.
    if (isSuspicious) this.#outlook.watch(state, now);
    else if (!this.#hand.isEmpty) this.#isWanted = true;
  }

  async #turn(before: RunState): Promise<void> {
    const { store, heartbeat, sinksOf } = this.#core;
    const batch = this.#entries.take(before, this.#setbacks.isSuspicious);
    this.#isWanted = false;
    const facts = this.#core.facts();
    const { worker } = heartbeat;
    const began = this.#copy.begin();
    let isSent = false;
    try {
      const transition = advance(this.#copy.graph, before, this.#occurrences(before, batch, facts), facts);
      const { state: after, events } = transition;
      if (after === before) return this.#unchanged(before, batch, transition, facts);
      const claimed = this.#hand.missing(after, worker);
      this.#stake.keep(claimed.length);
      isSent = true;
      const isStored = await store.commit({
        before,
        after,
        events,
        sinks: sinksOf(after.tenantId),
        also: alsoOf(batch, transition),
      });
      if (!isStored) return await this.#conflicted(batch);
      this.#copy.committed(after, began);
      this.#stored(before, batch, transition, worker === heartbeat.worker ? claimed : []);
    } catch (error) {
      await this.#rejected(before, batch, error, isSent);
    }
  }

  /** What happened, what time has brought, and the claim of what is ready then. */
  #occurrences(before: RunState, batch: readonly Entry[], { now }: Facts): Command[] {
    const occurrences = batch.map(({ occurrence }) => occurrence);
    if (before.wakeAt !== null && before.wakeAt <= now) occurrences.push({ type: 'tick' });
    const { claimant } = this.#core;
    if (claimant === undefined || (this.#setbacks.isSuspicious && batch.length > 0)) return occurrences;
    const { room } = this.#stake;
    if (room > 0) occurrences.push({ type: 'claim', worker: claimant, room });
    return occurrences;
  }

  #unchanged(
    before: RunState,
    batch: readonly Entry[],
    { verdicts }: TransitionResult,
    { now }: Facts,
  ): void {
    this.#setbacks.recovered();
    const again = batch.filter((entry, index) => {
      // A refusal must not come from a state that is older than what whoever asks has seen elsewhere.
      if (entry.asker !== undefined && !this.#copy.isNewerThan(entry.arrived)) return true;
      settle(this.#core, this.#hand, entry, { state: before, verdict: verdicts[index]! });
      return false;
    });
    this.#entries.putBack(again);
    if (again.length > 0) this.#copy.invalidate();
    this.#stake.giveBackGranted();
    if (!this.#lookers.isEmpty) this.#lookers.tell(this.#outlook.looked(before, now));
    this.#outlook.watch(before, now);
  }

  #stored(
    before: RunState,
    batch: readonly Entry[],
    { state, events, verdicts }: TransitionResult,
    claimed: readonly StepState[],
  ): void {
    const { observer, committed, clock } = this.#core;
    // What was tried by itself has claimed nothing: that comes next.
    if (this.#setbacks.isSuspicious) this.#isWanted = true;
    this.#setbacks.recovered();
    observer.committed('stored');
    committed(state, events);
    for (const [index, entry] of batch.entries())
      settle(this.#core, this.#hand, entry, { state, verdict: verdicts[index]! });
    this.#hand.stopOthers(state);
    this.#beginClaimed(state, claimed);
    const now = clock.now();
    this.#outlook.changed(before, state, now);
    this.#outlook.watch(state, now);
    this.#lookers.tell(claimed.length > 0 || state.wakeAt === null || state.wakeAt > now);
  }

  async #conflicted(batch: readonly Entry[]): Promise<void> {
    const { observer, pauses } = this.#core;
    observer.committed('conflict');
    this.#stake.giveBackKept();
    this.#copy.invalidate();
    const pause = this.#setbacks.conflicted(batch);
    this.#entries.putBack(batch);
    if (this.#setbacks.isContended) this.#lookers.tell(false);
    if (pause > 0) await pauses.pause(pause);
  }

  /** A write failed, and may be stored or not: what is there will say. */
  async #rejected(before: RunState, batch: readonly Entry[], error: unknown, isSent: boolean): Promise<void> {
    this.#copy.invalidate();
    if (isSent) this.#core.observer.committed('unknown');
    const isSubstituted = this.#setbacks.rejected(batch, before, error, isSent);
    // Tried alone it may be the one that cannot be stored: the others come before it.
    if (batch.length === 1 && !isSubstituted) this.#entries.putLast(batch);
    else this.#entries.putBack(batch);
    if (!isSubstituted) await this.#failed(error);
  }

  /** Waits before the next try. Whoever only wanted a look does not wait for it. */
  async #failed(error: unknown): Promise<void> {
    const { log, pauses } = this.#core;
    const { tenantId, runId } = this.place;
    const fields = { err: error, tenant_id: tenantId, run_id: runId };
    if (!this.#setbacks.isFailing) log.warn(fields, 'a run could not be read or stored; it is tried again');
    const pause = this.#setbacks.failed();
    this.#isWanted = false;
    this.#stake.giveBackGranted();
    this.#lookers.tell(false);
    this.#entries.delayed(error);
    if (this.#hasWork) await pauses.pause(pause);
    this.#entries.delayed(error);
  }

  /** Begins what was claimed; places are kept for it. What is not to be begun here is given back. */
  #beginClaimed(state: RunState, claimed: readonly StepState[]): void {
    for (const step of claimed) {
      const mayBegin = this.#core.claimant !== undefined && this.#stake.spend();
      if (mayBegin) this.#hand.begin(state, step, this.#copy.graph);
      else this.#giveBack(this.#hand.refuse(step));
    }
    this.#stake.giveBackKept();
  }
}
