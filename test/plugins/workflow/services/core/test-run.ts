import type { JsonObject } from '../../../../../plugins/workflow/contract/graph.ts';
import type { StepStatus, TaskCompletion } from '../../../../../plugins/workflow/contract/runs.ts';
import { advance, startRun } from '../../../../../plugins/workflow/services/core/advance.ts';
import type {
  Command,
  Facts,
  Fence,
  NewEvent,
  Verdict,
} from '../../../../../plugins/workflow/services/core/commands.ts';
import type { RunState, StepState } from '../../../../../plugins/workflow/services/core/state.ts';
import type { CompiledGraph } from '../../../../../plugins/workflow/services/graph/compiled-graph.ts';

/** When test runs start. */
export const T0 = Date.UTC(2026, 0, 1);

/** What a test run knows beside its graph. */
export interface TestRunOptions {
  readonly input?: JsonObject;
  readonly limits?: Partial<Facts['limits']>;
  readonly endsOnFailure?: boolean;
  /** Claims in the transition that starts the run. */
  readonly claim?: { readonly worker: string; readonly room: number };
}

/**
 * A run with its clock and its events, driven by verbs. Nodes are named by id, and verbs speak of their current
 * delivery.
 */
export class TestRun {
  readonly graph: CompiledGraph;
  state: RunState;
  readonly events: NewEvent[] = [];
  now = T0;
  limits: Facts['limits'];
  readonly #endsOnFailure: boolean;
  #ids = 0;

  constructor(
    graph: CompiledGraph,
    { input = {}, limits = {}, endsOnFailure = false, claim }: TestRunOptions = {},
  ) {
    this.#endsOnFailure = endsOnFailure;
    this.graph = graph;
    this.limits = { maxSteps: 50, maxDeliveries: 4, maxContext: 100_000, ...limits };
    const given = {
      id: 'run',
      tenantId: 'tenant',
      definitionId: 'definition',
      versionId: 'version',
      version: 1,
      input,
      startedBy: 'anna',
    };
    const begun = startRun(graph, given, this.facts, claim);
    this.state = begun.state;
    this.events.push(...begun.events);
  }

  get facts(): Facts {
    const { now, limits } = this;
    return { now, newId: () => `step-${++this.#ids}`, endsOnFailure: this.#endsOnFailure, limits };
  }

  apply(...commands: Command[]): readonly Verdict[] {
    const { state, events, verdicts } = advance(this.graph, this.state, commands, this.facts);
    this.state = state;
    this.events.push(...events);
    return verdicts;
  }

  claim(worker = 'w1', room = 100): Verdict {
    return this.apply({ type: 'claim', worker, room })[0]!;
  }

  succeed(node: string, output: JsonObject = {}, fence = this.fence(node)): Verdict {
    return this.apply({ type: 'succeeded', fence, output })[0]!;
  }

  fail(node: string, isRetryable = true, fence = this.fence(node), retryAfterMs?: number): Verdict {
    const error = { code: 'broken', message: `${node} is broken` };
    return this.apply({ type: 'failed', fence, error, isRetryable, retryAfterMs })[0]!;
  }

  release(node: string, fence = this.fence(node)): Verdict {
    return this.apply({ type: 'released', fence })[0]!;
  }

  lose(worker = 'w1'): Verdict {
    return this.apply({ type: 'worker_lost', worker })[0]!;
  }

  complete(node: string, payload: TaskCompletion = {}, by = 'bob'): Verdict {
    return this.apply({ type: 'task_completed', stepId: this.step(node).id, by, payload })[0]!;
  }

  tick(ms = 0): Verdict {
    this.now += ms;
    return this.apply({ type: 'tick' })[0]!;
  }

  retry(by = 'anna'): Verdict {
    return this.apply({ type: 'retry', by })[0]!;
  }

  cancel(by = 'anna'): Verdict {
    return this.apply({ type: 'cancel', by })[0]!;
  }

  /** Claims a node and brings its output. */
  run(node: string, output: JsonObject = {}): Verdict {
    this.claim();
    return this.succeed(node, output);
  }

  step(node: string): StepState {
    const step = this.state.steps.get(node);
    if (step === undefined) throw new Error(`Node ${node} is not decided.`);
    return step;
  }

  fence(node: string): Fence {
    const { id, attempt, delivery } = this.step(node);
    return { stepId: id, attempt, delivery };
  }

  /** Statuses of the decided nodes. */
  get statuses(): Readonly<Record<string, StepStatus>> {
    return Object.fromEntries([...this.state.steps].map(([node, { status }]) => [node, status]));
  }

  /** Types of the events after a number, with their nodes: `step.completed a`. */
  told(after = 0): readonly string[] {
    return this.events
      .filter(({ seq }) => seq > after)
      .map(({ type, nodeId }) => (nodeId === null ? type : `${type} ${nodeId}`));
  }

  /** The last event of a type. */
  last(type: NewEvent['type']): NewEvent {
    const event = this.events.findLast((one) => one.type === type);
    if (event === undefined) throw new Error(`No event ${type}.`);
    return event;
  }
}
