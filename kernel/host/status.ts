/** Where a plugin stands (DESIGN 3). */
export type PluginState = 'declared' | 'waiting' | 'starting' | 'active' | 'draining' | 'stopped' | 'failed';

/** One change of state. */
export interface StatusChange {
  readonly state: PluginState;
  readonly reason: string;
  readonly at: Date;
}

/** How many changes are remembered. */
const HISTORY = 20;

/** A plugin's state with its reason and time, and the latest changes. */
export class Status {
  #history: StatusChange[] = [];
  readonly #now: () => number;

  constructor(now: () => number, reason: string) {
    this.#now = now;
    this.set('declared', reason);
  }

  get current(): StatusChange {
    return this.#history.at(-1)!;
  }

  get state(): PluginState {
    return this.current.state;
  }

  /** Oldest first, twenty at most. */
  get history(): readonly StatusChange[] {
    return this.#history;
  }

  set(state: PluginState, reason: string): void {
    const last = this.#history.at(-1);
    if (last?.state === state && last.reason === reason) return;
    this.#history = [...this.#history, { state, reason, at: new Date(this.#now()) }].slice(-HISTORY);
  }
}
