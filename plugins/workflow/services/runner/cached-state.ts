import type { RunPlace } from '../../contract/engine.ts';
import type { RunState } from '../core/state.ts';
import type { CompiledGraph } from '../graph/compiled-graph.ts';
import type { Graphs } from '../graphs.ts';
import type { RunStore } from '../ports/run-store.ts';

/**
 * This process's copy of one run, on which its decisions are based: the state after the last read or commit here. Other
 * processes change the run too, so it may be stale.
 *
 * A change that is based on a stale copy cannot be stored: the commit compares revisions. A refusal ("this task is
 * completed") is not compared with anything, so it may only come from a copy that is new enough. For that there is a
 * logical clock, which ticks when a read or a transition begins: a copy that is newer than a moment has all that was
 * stored by then, here or elsewhere.
 */
export class CachedState {
  readonly #parts: { readonly store: Pick<RunStore, 'read'>; readonly graphs: Graphs };
  readonly #place: RunPlace;
  #state: RunState | undefined;
  #graph: CompiledGraph | undefined;
  #isStale = false;
  #moment = 0;
  /** When the read or the commit began that the state is from. */
  #takenAt = 0;

  constructor(parts: { readonly store: Pick<RunStore, 'read'>; readonly graphs: Graphs }, place: RunPlace) {
    this.#parts = parts;
    this.#place = place;
  }

  /** The state to decide by. Undefined: the run has to be read first. */
  get current(): RunState | undefined {
    return this.#isStale ? undefined : this.#state;
  }

  /** Revision of the known state, stale or not; undefined while none is known. */
  get revision(): number | undefined {
    return this.#state?.revision;
  }

  /** The graph of the run's version, which never changes. Throws before the run was read or created. */
  get graph(): CompiledGraph {
    if (this.#graph === undefined) throw new Error('The run was not read yet');
    return this.#graph;
  }

  /** Another process has changed the run, or may have. */
  get isStale(): boolean {
    return this.#isStale;
  }

  /** The time by the logical clock. */
  get moment(): number {
    return this.#moment;
  }

  /** Whether it was taken after that moment. */
  isNewerThan(moment: number): boolean {
    return this.#takenAt > moment;
  }

  /** Marks the copy as stale: it has to be read again before the next decision. */
  invalidate(): void {
    this.#isStale = true;
  }

  /** The run was stored for the first time, here. */
  created(graph: CompiledGraph, state: RunState): void {
    this.#graph = graph;
    this.#state = state;
  }

  /** Reads the run. Undefined: there is no such run. Rejects when the database does not answer, and is stale then. */
  async read(): Promise<RunState | undefined> {
    const { store, graphs } = this.#parts;
    const began = this.begin();
    // Before the database is asked: what changes from now on may be missing in the answer.
    this.#isStale = false;
    try {
      const state = await store.read(this.#place);
      if (state !== undefined) this.#graph ??= await graphs.get(state.tenantId, state.versionId);
      this.#takenAt = began;
      this.#state = state;
      return state;
    } catch (error) {
      this.#isStale = true;
      throw error;
    }
  }

  /** The moment at which a transition begins. Callers that arrive from now on may know of later changes. */
  begin(): number {
    this.#moment += 1;
    return this.#moment;
  }

  /** A transition that began at that moment is stored: the copy was right, and this follows. */
  committed(state: RunState, began: number): void {
    this.#takenAt = began;
    this.#state = state;
  }
}
