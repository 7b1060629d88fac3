import type { JsonObject } from '../../../../../plugins/workflow/contract/graph.ts';
import type { RunStatus, StepStatus, TaskCompletion } from '../../../../../plugins/workflow/contract/runs.ts';
import { type Plan, type PlannedNode, RETRY_DELAY } from './plan.ts';

/*
 * What a run has to be, from the log of what was done to it and the specification alone. Nothing is kept up to date:
 * what became of a node after k entries of the log is a question, answered from the same question about its
 * predecessors and about the entry before. Nothing here comes from the engine.
 */

/** What was done to a run, and had an effect. */
export type Entry = { readonly at: number } & (
  | { readonly did: 'began' | 'lost' | 'ticked' | 'retried' | 'cancelled' }
  | { readonly did: 'claimed'; readonly nodes: readonly string[]; readonly worker: string }
  | { readonly did: 'succeeded'; readonly node: string; readonly output: JsonObject }
  | { readonly did: 'failed'; readonly node: string; readonly isRetryable: boolean }
  | { readonly did: 'released'; readonly node: string }
  | { readonly did: 'completed'; readonly node: string; readonly payload: TaskCompletion }
);

/** A node after so many entries. */
export interface Life {
  readonly status: StepStatus;
  readonly attempt: number;
  readonly delivery: number;
  readonly lost: number;
  readonly readyAt: number;
  readonly dueAt: number;
  /** Indexes of edges, of a completed node. */
  readonly taken: readonly number[];
  readonly payload?: TaskCompletion;
  /** The entry with which it got this status. */
  readonly since: number;
}

const NEVER = Number.POSITIVE_INFINITY;

/** The answers to what a log means for a plan. */
export class RunModel {
  readonly plan: Plan;
  readonly maxDeliveries: number;
  readonly log: Entry[] = [];
  readonly #lives = new Map<string, Life | undefined>();
  readonly #reach = new Map<string, Life | undefined>();

  constructor(plan: Plan, maxDeliveries: number, at: number) {
    this.plan = plan;
    this.maxDeliveries = maxDeliveries;
    this.log.push({ did: 'began', at });
  }

  /** Undefined: not decided. */
  life(id: string, k = this.log.length - 1): Life | undefined {
    const key = `${id} ${k}`;
    if (!this.#lives.has(key)) this.#lives.set(key, this.#ask(this.#node(id), k));
    return this.#lives.get(key);
  }

  get lives(): ReadonlyMap<string, Life> {
    const decided = this.plan.nodes.flatMap(({ id }) => {
      const life = this.life(id);
      return life === undefined ? [] : [[id, life] as const];
    });
    return new Map(decided);
  }

  get status(): RunStatus {
    if (this.log.some(({ did }) => did === 'cancelled')) return 'cancelled';
    const statuses = new Set([...this.lives.values()].map(({ status }) => status));
    if (statuses.has('failed')) return 'paused';
    if (statuses.has('pending') || statuses.has('running')) return 'running';
    return statuses.has('waiting') ? 'waiting' : 'completed';
  }

  get owner(): string | null {
    if (![...this.lives.values()].some(({ status }) => status === 'running')) return null;
    const claim = this.log.findLast((entry) => entry.did === 'claimed');
    return claim?.did === 'claimed' ? claim.worker : null;
  }

  /** Nodes that failed before all others that are failed. */
  get firstFailed(): readonly string[] {
    const failed = [...this.lives].filter(([, { status }]) => status === 'failed');
    const first = Math.min(...failed.map(([, { since }]) => since));
    return failed.filter(([, { since }]) => since === first).map(([id]) => id);
  }

  /** Nodes that a worker may claim. */
  claimable(worker: string, now: number): readonly string[] {
    const isOpen = this.status === 'running' || this.status === 'waiting';
    if (!isOpen || (this.owner !== null && this.owner !== worker)) return [];
    return [...this.lives]
      .filter(([, life]) => life.status === 'pending' && life.readyAt <= now)
      .map(([id]) => id);
  }

  /** When somebody has to look; `now` for at once. Empty for never. */
  wakes(now: number): readonly number[] {
    const { status, owner } = this;
    return [...this.lives.values()].flatMap((life) => {
      if (life.status === 'waiting' && life.dueAt !== NEVER) return [life.dueAt];
      const counts = life.status === 'pending' && owner === null && status === 'running';
      return counts ? [Math.max(life.readyAt, now)] : [];
    });
  }

  variables(k = this.log.length - 1): JsonObject {
    const sent = this.log
      .slice(0, k + 1)
      .map((entry) => (entry.did === 'completed' ? entry.payload.variables : undefined));
    return Object.assign({}, ...sent);
  }

  /** The edges that a node would take. */
  route(id: string, outcome: string | undefined, output: JsonObject, variables: JsonObject): number[] {
    const leaving = [...this.plan.edges.entries()].filter(([, { from }]) => from === id);
    const isMatch = ([, { when }]: (typeof leaving)[number]) =>
      (when.is === 'outcome' && when.value === outcome) ||
      (when.is === 'own' && when.value === output.pick) ||
      (when.is === 'variable' && when.value === variables.way);
    const matches = leaving.filter(isMatch);
    const taken = matches.length > 0 ? matches : leaving.filter(([, { when }]) => when.is === 'default');
    return taken.map(([index]) => index);
  }

  #node(id: string): PlannedNode {
    return this.plan.nodes.find((node) => node.id === id)!;
  }

  #ask(node: PlannedNode, k: number): Life | undefined {
    const life = this.#reached(node, k);
    const isTask = node.kind === 'human' && life?.status === 'pending';
    return isTask && !this.#isPaused(k) ? this.#opened(life, node, k) : life;
  }

  /** Without the opening of tasks, which waits while the run is paused. */
  #reached(node: PlannedNode, k: number): Life | undefined {
    const key = `${node.id} ${k}`;
    if (!this.#reach.has(key)) {
      const before = k === 0 ? undefined : this.life(node.id, k - 1);
      this.#reach.set(key, before === undefined ? this.#decided(node, k) : this.#after(before, node, k));
    }
    return this.#reach.get(key);
  }

  #isPaused(k: number): boolean {
    return this.plan.nodes.some((node) => this.#reached(node, k)?.status === 'failed');
  }

  #opened(life: Life, { timeoutMs }: PlannedNode, k: number): Life {
    return { ...life, status: 'waiting', dueAt: timeoutMs === 0 ? NEVER : this.log[k]!.at + timeoutMs };
  }

  #decided(node: PlannedNode, k: number): Life | undefined {
    const fates = [...this.plan.edges.entries()]
      .filter(([, { to }]) => to === node.id)
      .map(([index, { from }]) => {
        const source = this.#reached(this.#node(from), k);
        if (source?.status === 'skipped') return 'dead';
        if (source?.status !== 'completed') return 'open';
        return source.taken.includes(index) ? 'taken' : 'dead';
      });
    if (fates.includes('open')) return undefined;
    const isReached = node.kind === 'start' || fates.includes('taken');
    return isReached ? this.#begun(node, 1, k) : { ...this.#begun(node, 1, k), status: 'skipped', taken: [] };
  }

  #begun(node: PlannedNode, attempt: number, k: number): Life {
    const fresh = { attempt, delivery: 0, lost: 0, readyAt: 0, dueAt: NEVER, taken: [], since: k };
    if (node.kind === 'auto' || node.kind === 'human') return { ...fresh, status: 'pending' };
    return { ...fresh, status: 'completed', taken: this.route(node.id, undefined, {}, this.variables(k)) };
  }

  #after(life: Life, node: PlannedNode, k: number): Life {
    const entry = this.log[k]!;
    const isMeant = 'node' in entry && entry.node === node.id;
    const failed: Life = { ...life, status: 'failed', since: k };
    switch (entry.did) {
      case 'claimed':
        if (!entry.nodes.includes(node.id)) return life;
        return { ...life, status: 'running', delivery: life.delivery + 1 };
      case 'succeeded': {
        if (!isMeant) return life;
        const taken = this.route(node.id, undefined, entry.output, this.variables(k));
        return taken.length === 0 ? failed : { ...life, status: 'completed', taken };
      }
      case 'failed':
        if (!isMeant) return life;
        if (!entry.isRetryable || life.attempt >= node.maxAttempts) return failed;
        return { ...this.#begun(node, life.attempt + 1, k), readyAt: entry.at + RETRY_DELAY };
      case 'released':
        return isMeant ? { ...life, status: 'pending' } : life;
      case 'completed': {
        if (!isMeant) return life;
        const { outcome, output = {} } = entry.payload;
        const taken = this.route(node.id, outcome, output, this.variables(k));
        return { ...life, status: 'completed', taken, payload: entry.payload };
      }
      case 'lost':
        if (life.status !== 'running') return life;
        return life.lost + 1 < this.maxDeliveries
          ? { ...life, status: 'pending', lost: life.lost + 1 }
          : { ...failed, lost: life.lost + 1 };
      case 'ticked': {
        if (life.status !== 'waiting' || life.dueAt > entry.at) return life;
        const isNamed = this.plan.edges.some(
          ({ from, when }) => from === node.id && when.is === 'outcome' && when.value === 'timeout',
        );
        const taken = isNamed ? this.route(node.id, 'timeout', {}, this.variables(k)) : [];
        return isNamed ? { ...life, status: 'completed', taken } : failed;
      }
      case 'retried':
        return life.status === 'failed' ? this.#begun(node, life.attempt + 1, k) : life;
      case 'cancelled':
        return ['pending', 'running', 'waiting'].includes(life.status)
          ? { ...life, status: 'cancelled' }
          : life;
      case 'began':
        return life;
    }
  }
}
