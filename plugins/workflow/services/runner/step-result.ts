import type { Json, JsonObject } from '../../contract/graph.ts';
import { StepFailure, type StepResult } from '../../contract/node-types.ts';
import type { Command, Fence } from '../core/commands.ts';
import { jsonFault } from '../graph/json.ts';
import { MAX_RECORD } from '../ports/execution.ts';

/** Levels of JSON that an output may have: whoever reads it looks through all of them. */
const MAX_DEPTH = 256;
/** Bytes of JSON that the output of a step may have. */
export const MAX_OUTPUT = 1024 * 1024;
/** Characters of a message that are kept. */
const MAX_MESSAGE = 2_000;
const CODE = /^[a-z0-9_]{1,64}$/;

/** What a delivery comes to. */
export type Ending = Extract<Command, { readonly type: 'succeeded' | 'failed' }>;

/**
 * A result as an occurrence. The output becomes what will be stored of it: plain JSON that nobody else holds. An output that is no object is `output_invalid`, one
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

/** A failure as an occurrence. Of what is no `StepFailure` nothing is told: it may hold secrets. */
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
export function endingAtDeadline(fence: Fence, timeoutMs: number): Ending {
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

/** A copy that is exactly what its JSON says: members that are undefined are gone, and nobody can change it any more. */
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
