import type { Json, JsonObject } from '../../contract/graph.ts';
import { StepFailure, type StepResult } from '../../contract/node-types.ts';
import type { DeliveryResult } from '../../metrics.ts';
import type { Fence, Occurrence } from '../core/occurrence.ts';
import type { RunState, StepState } from '../core/run-state.ts';
import type { CompiledNode } from '../graph/compiled-graph.ts';
import { jsonFault } from '../graph/json-fault.ts';
import { MAX_RECORD } from '../ports/execution.ts';
import type { RunnerCore } from './runner.ts';

/**
 * One delivery of one step that this process carries out: the call, its signal and its deadline. It is over at the first of: the call ends, the deadline comes, it is
 * stopped. A call that goes on after that is left alone, and what it brings is ignored.
 */
export class StepCall {
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

  /** True once it holds no slot any more; its result may still wait to be stored. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether it is this very delivery. */
  is({ attempt, delivery }: StepState): boolean {
    return this.fence.attempt === attempt && this.fence.delivery === delivery;
  }

  /** A delivery that was claimed and is not begun: it is given back. */
  static notBegun(core: RunnerCore, step: StepState): StepCall {
    const call = new StepCall(core, step);
    call.#isOver = true;
    return call;
  }

  /**
   * Begins the call, in this turn.
   *
   * @param ended called once with what it came to, and not at all when it was stopped
   */
  begin(
    run: RunState,
    step: StepState,
    node: CompiledNode,
    ended: (ending: Ending, also?: StepResult['also']) => void,
  ): void {
    const { timers, limits, metrics, counts } = this.#core;
    counts.running += 1;
    counts.begun += 1;
    const controller = new AbortController();
    this.#controller = controller;
    this.#cancelDeadline = timers.after(limits.stepTimeoutMs, () => {
      if (!this.#finish('timed-out')) return;
      this.#abandon(new DOMException('The time of the step is over', 'TimeoutError'));
      ended(endingAtDeadline(this.fence, limits.stepTimeoutMs));
    });
    if (step.delivery > 1) metrics.redelivered(step.nodeType);
    this.#call({ run, step, node, signal: controller.signal }).then(
      (result) => {
        if (this.#isOver) return metrics.abandoned(-1);
        const ending = endingOf(this.fence, result);
        this.#finish(ending.type);
        const { also } = result;
        // `also` is called on its result, as its author wrote it.
        ended(
          ending,
          ending.type === 'succeeded' && also ? (entities) => also.call(result, entities) : undefined,
        );
      },
      (error: unknown) => {
        if (this.#isOver) return metrics.abandoned(-1);
        const ending = endingOfError(this.fence, error);
        this.#logDefect(run, step, ending, error);
        this.#finish('failed');
        ended(ending);
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
    const { metrics, timers, counts } = this.#core;
    counts.running -= 1;
    metrics.delivered(this.nodeType, result, timers.monotonic() - this.#began);
    return true;
  }

  /** It is counted until it ends; most end at once. */
  #abandon(reason: DOMException): void {
    this.#core.metrics.abandoned(1);
    this.#controller?.abort(reason);
  }

  #logDefect({ id, tenantId }: RunState, step: StepState, ending: Ending, error: unknown): void {
    if (ending.type !== 'failed' || ending.error.code !== 'internal') return;
    const fields = { err: error, tenant_id: tenantId, run_id: id, step_id: step.id, node: step.nodeId };
    this.#core.log.error(fields, 'a step failed because of a defect');
  }
}

/** Levels of JSON that an output may have: its readers look through all of them. */
const MAX_DEPTH = 256;
/** Bytes of JSON that the output of a step may have. */
export const MAX_OUTPUT = 1024 * 1024;
/** Characters of a message that are kept. */
const MAX_MESSAGE = 2_000;
const CODE = /^[a-z0-9_]{1,64}$/;

/** What a delivery comes to. */
export type Ending = Extract<Occurrence, { readonly type: 'succeeded' | 'failed' }>;

/**
 * A result as a command. The output becomes what will be stored of it: plain JSON that is held nowhere else. An output that is no object is `output_invalid`, one
 * above 1 MiB `output_too_large`; another attempt would end alike. A record that is too large is left out.
 */
export function endingOf(fence: Fence, result: StepResult): Ending {
  const output = plainObject(result?.output, MAX_OUTPUT);
  if (output === 'too-large') {
    return final(
      fence,
      'output_too_large',
      'The output of the step is larger than 1 MiB of JSON. Let the step give back less, or keep the data elsewhere and give back where.',
    );
  }
  if (output === 'invalid') {
    return final(
      fence,
      'output_invalid',
      `The step gave back something that is not a JSON object of ${MAX_DEPTH} levels at most.`,
    );
  }
  return { type: 'succeeded', fence, output, ...recordOf(result.record) };
}

/** A failure as a command. The text of what is no `StepFailure` is left out: it may hold secrets. */
export function endingOfError(fence: Fence, error: unknown): Ending {
  if (!(error instanceof StepFailure)) {
    const message =
      'The step failed because of a defect of its type or of the gateway; the log of the gateway has the cause.';
    return { type: 'failed', fence, error: { code: 'internal', message }, isRetryable: true };
  }
  const code = CODE.test(error.code) ? error.code : 'internal';
  const message = error.message.slice(0, MAX_MESSAGE);
  return {
    type: 'failed',
    fence,
    error: { code, message },
    isRetryable: error.isRetryable,
    ...recordOf(error.record),
  };
}

/** The time of an attempt is over. */
function endingAtDeadline(fence: Fence, timeoutMs: number): Ending {
  const message = `The step was not done after ${timeoutMs / 1000} s (WORKFLOW_STEP_TIMEOUT) and was aborted.`;
  return { type: 'failed', fence, error: { code: 'step_timeout', message }, isRetryable: true };
}

/** The result could be computed, and not be stored, however often it was tried. */
export function endingNotStored(fence: Fence): Ending {
  const message =
    'The result of the step could not be stored; the log of the gateway has the cause. Correct it, then retry the run.';
  return { type: 'failed', fence, error: { code: 'result_not_stored', message }, isRetryable: false };
}

function final(fence: Fence, code: string, message: string): Ending {
  return { type: 'failed', fence, error: { code, message }, isRetryable: false };
}

function recordOf(record: JsonObject | undefined): { readonly record?: JsonObject } {
  const plain = record === undefined ? 'invalid' : plainObject(record, MAX_RECORD);
  return typeof plain === 'string' ? {} : { record: plain };
}

/** A copy that is exactly what its JSON says: members that are undefined are gone, and it cannot be changed any more. */
function plainObject(value: unknown, maxBytes: number): JsonObject | 'invalid' | 'too-large' {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'invalid';
  const text = jsonOf(value);
  if (text === undefined) return 'invalid';
  // A character has three bytes of UTF-8 at most: most texts need no second look.
  if (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes) return 'too-large';
  const plain = JSON.parse(text) as Json;
  const isObject = typeof plain === 'object' && plain !== null && !Array.isArray(plain);
  const isFlat = jsonFault(plain, { bytes: Number.POSITIVE_INFINITY, depth: MAX_DEPTH }) === undefined;
  return isObject && isFlat ? (plain as JsonObject) : 'invalid';
}

/** Undefined for what has no JSON: cycles, big integers, endless nesting. */
function jsonOf(value: object): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
