import type { NodeType, StepResult } from '../../contract/node-types.ts';
import type { RunState, StepState } from '../core/state.ts';

/** The types of automatic nodes that are registered now. They come and go with their plugins. */
export interface NodeTypes {
  get(type: string): NodeType | undefined;
  /** Names of all types, the built-in ones first. */
  names(): readonly string[];
}

/** Bytes of JSON that the record of an attempt may have. */
export const MAX_RECORD = 4 * 1024;

/**
 * Carries out one delivery of an automatic step. Rejects with a `StepFailure`, or with anything else, which fails the
 * step as `internal` without its text. Ends soon after `signal` has aborted.
 */
export type Execute = (work: {
  readonly run: RunState;
  readonly step: StepState;
  /** Aborts at the deadline of the step, with its cancellation, and at the end of the drain time. */
  readonly signal: AbortSignal;
}) => Promise<StepResult>;
