import { isJsonObject } from 'agent-gateway';
import type { JsonObject } from '../../contract/graph.ts';
import { StepFailure, type StepResult } from '../../contract/node-types.ts';
import type { DeliveryResult } from '../../metrics.ts';
import type { Command, Fence } from '../core/commands.ts';
import type { RunState, StepState } from '../core/state.ts';
import { jsonFault } from '../graph/json.ts';
import { MAX_RECORD } from '../ports/execution.ts';
import type { RunnerCore } from './runner-core.ts';

/**
 * One delivery of one step that this process carries out: the call, its signal and its deadline. It is over at the
 * first of: the call ends, the deadline comes, it is stopped. A call that goes on after that is not waited for, and its
 * result is ignored.
 */
export class StepCall {
  readonly fence: Fence;
  readonly nodeType: string;
  readonly #core: RunnerCore;
  readonly #began: number;
  #controller: AbortController | undefined;
  #cancelDeadline: (() => void) | undefined;
  /** Also before it has begun. */
  #isOver = true;

  constructor(core: RunnerCore, { id, attempt, delivery, nodeType }: StepState) {
    this.#core = core;
    this.#began = core.timers.monotonic();
    this.fence = { stepId: id, attempt, delivery };
    this.nodeType = nodeType;
  }

  /** True while it holds no slot: it has not begun, or has ended, and that may still wait to be stored. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether it is this very delivery. */
  is({ attempt, delivery }: StepState): boolean {
    return this.fence.attempt === attempt && this.fence.delivery === delivery;
  }

  /**
   * Begins the call, in this turn.
   *
   * @param ended called once with the result, and not at all when the call was stopped
   */
  begin(run: RunState, step: StepState, ended: (ending: Ending, also?: StepResult['also']) => void): void {
    const { execute, timers, limits, metrics, counts } = this.#core;
    this.#isOver = false;
    counts.running += 1;
    const controller = new AbortController();
    this.#controller = controller;
    this.#cancelDeadline = timers.after(limits.stepTimeoutMs, () => {
      if (!this.#finish('timed-out')) return;
      this.#abandon(new DOMException('The time of the step is over', 'TimeoutError'));
      const ending = endingAtDeadline(this.fence, limits.stepTimeoutMs);
      this.#logFailure(run, step, ending);
      ended(ending);
    });
    if (step.delivery > 1) metrics.redelivered(step.nodeType);
    // An executor may throw before it returns a promise.
    Promise.try(() => execute({ run, step, signal: controller.signal })).then(
      (result) => {
        if (this.#isOver) return metrics.abandoned(-1);
        const ending = endingOf(this.fence, result);
        this.#logFailure(run, step, ending);
        this.#finish(ending.type);
        // `also` is called on its result, as its author wrote it.
        ended(ending, ending.type === 'succeeded' ? result.also?.bind(result) : undefined);
      },
      (error: unknown) => {
        if (this.#isOver) return metrics.abandoned(-1);
        const ending = endingOfError(this.fence, error);
        this.#logFailure(run, step, ending, error);
        this.#finish('failed');
        ended(ending);
      },
    );
  }

  /** Aborts the call; its result is ignored. False when it was over. */
  stop(reason: string): boolean {
    if (!this.#finish('aborted')) return false;
    this.#abandon(new DOMException(reason, 'AbortError'));
    return true;
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

  /** A defect each time; what else fails a step, such as a model that is away, may fail that of every run. */
  #logFailure({ id, tenantId }: RunState, step: StepState, ending: Ending, error?: unknown): void {
    if (ending.type !== 'failed') return;
    const { code, message } = ending.error;
    const place = { tenant_id: tenantId, run_id: id, step_id: step.id, node: step.nodeId };
    const fields = { err: error ?? new Error(message), code, ...place };
    if (code === 'internal') this.#core.log.error(fields, 'a step failed because of a defect');
    else this.#core.stepFailed(code, fields);
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
export type Ending = Extract<Command, { readonly type: 'succeeded' | 'failed' }>;

/**
 * A result as a command. The output becomes what will be stored of it: plain JSON that no other code references. An
 * output that is not an object is `output_invalid`, one above 1 MiB `output_too_large`; another attempt would end the
 * same way. A record that is too large is left out.
 */
export function endingOf(fence: Fence, result: StepResult): Ending {
  const output = plainObject(result?.output, MAX_OUTPUT);
  if (output === 'too-large') {
    const message =
      'The output of the step is larger than 1 MiB of JSON. Let the step give back less, or keep the data elsewhere and give back where.';
    return failed(fence, 'output_too_large', message);
  }
  if (output === 'invalid') {
    const message = `The step gave back something that is not a JSON object of ${MAX_DEPTH} levels at most.`;
    return failed(fence, 'output_invalid', message);
  }
  return { type: 'succeeded', fence, output, ...recordOf(result.record) };
}

/** A failure as a command. The message of an error that is not a `StepFailure` is left out: it may hold secrets. */
export function endingOfError(fence: Fence, error: unknown): Ending {
  if (!(error instanceof StepFailure)) {
    const message =
      'The step failed because of a defect of its type or of the gateway; the log of the gateway has the cause.';
    return failed(fence, 'internal', message, true);
  }
  const code = CODE.test(error.code) ? error.code : 'internal';
  const failure = failed(fence, code, error.message.slice(0, MAX_MESSAGE), error.isRetryable);
  return { ...failure, ...retryAfterOf(error), ...recordOf(error.record) };
}

/** The time of an attempt is over. */
function endingAtDeadline(fence: Fence, timeoutMs: number): Ending {
  const message = `The step was not done after ${timeoutMs / 1000} s (WORKFLOW_STEP_TIMEOUT) and was aborted.`;
  return failed(fence, 'step_timeout', message, true);
}

/** The result was computed, but could not be stored in any number of tries. */
export function endingNotStored(fence: Fence): Ending {
  const message =
    'The result of the step could not be stored; the log of the gateway has the cause. Correct it, then try again.';
  return failed(fence, 'result_not_stored', message);
}

function failed(fence: Fence, code: string, message: string, isRetryable = false): Ending {
  return { type: 'failed', fence, error: { code, message }, isRetryable };
}

/** What cannot be a time is ignored: node types are code of others. */
function retryAfterOf({ retryAfterMs }: StepFailure): { readonly retryAfterMs?: number } {
  return typeof retryAfterMs === 'number' && retryAfterMs > 0
    ? { retryAfterMs: Math.ceil(retryAfterMs) }
    : {};
}

function recordOf(record: JsonObject | undefined): { readonly record?: JsonObject } {
  const plain = record === undefined ? 'invalid' : plainObject(record, MAX_RECORD);
  return typeof plain === 'string' ? {} : { record: plain };
}

/**
 * A copy that is exactly what its JSON says: members that are undefined are gone, and it cannot be changed any more.
 */
function plainObject(value: unknown, maxBytes: number): JsonObject | 'invalid' | 'too-large' {
  if (!isJsonObject(value)) return 'invalid';
  const text = jsonOf(value);
  if (text === undefined) return 'invalid';
  // A character has three bytes of UTF-8 at most: most texts need no second look.
  if (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes) return 'too-large';
  const plain: unknown = JSON.parse(text);
  const isFlat = jsonFault(plain, { depth: MAX_DEPTH }) === undefined;
  return isJsonObject(plain) && isFlat ? (plain as JsonObject) : 'invalid';
}

/** Undefined for what has no JSON: cycles, big integers, endless nesting. */
function jsonOf(value: object): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
