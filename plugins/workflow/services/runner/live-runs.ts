import { TransientMap } from 'agent-gateway';
import type { RunPlace } from '../../contract/engine.ts';
import { runKey } from '../run-key.ts';
import { LiveRun } from './live-run.ts';
import type { RunnerCore } from './runner-core.ts';

/** The runs that this process works on now, one `LiveRun` for each. */
export class LiveRuns {
  readonly #core: RunnerCore;
  readonly #runs = new TransientMap<string, LiveRun>();
  #empty: PromiseWithResolvers<void> | undefined;

  constructor(core: RunnerCore) {
    this.#core = core;
  }

  /** The run, when this process works on it. */
  get(place: RunPlace): LiveRun | undefined {
    return this.#runs.get(runKey(place));
  }

  /** The run; it is forgotten as soon as it has nothing to do. */
  of(place: RunPlace): LiveRun {
    const key = runKey(place);
    let run = this.#runs.get(key);
    if (run === undefined) {
      run = new LiveRun(this.#core, place, (left) => this.#drop(key, left));
      this.#runs.set(key, run);
    }
    return run;
  }

  /** All of them, as of now. */
  all(): readonly LiveRun[] {
    return [...this.#runs.values()];
  }

  /** Resolves when there is none. */
  whenEmpty(): Promise<void> {
    if (this.#runs.size === 0) return Promise.resolve();
    this.#empty ??= Promise.withResolvers();
    return this.#empty.promise;
  }

  #drop(key: string, run: LiveRun): void {
    if (this.#runs.get(key) !== run) return;
    this.#runs.delete(key);
    if (this.#runs.size > 0) return;
    this.#empty?.resolve();
    this.#empty = undefined;
  }
}
