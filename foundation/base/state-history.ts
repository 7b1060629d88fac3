/** One change of state. */
export interface StateChange<State extends string> {
  readonly state: State;
  readonly reason: string;
  readonly at: Date;
}

/** How many changes are remembered. */
const CHANGES = 20;

/** The state that something is in, with its reason and time, and the latest changes. */
export class StateHistory<State extends string> {
  #changes: readonly StateChange<State>[] = [];
  readonly #now: () => number;

  constructor(now: () => number, state: State, reason: string) {
    this.#now = now;
    this.set(state, reason);
  }

  get current(): StateChange<State> {
    return this.#changes.at(-1)!;
  }

  get state(): State {
    return this.current.state;
  }

  /** Oldest first, twenty at most. */
  get changes(): readonly StateChange<State>[] {
    return this.#changes;
  }

  /** Notes a change; the state and reason that there are already are none. */
  set(state: State, reason: string): void {
    const last = this.#changes.at(-1);
    if (last?.state === state && last.reason === reason) return;
    this.#changes = [...this.#changes, { state, reason, at: new Date(this.#now()) }].slice(-CHANGES);
  }
}
