import { AgentErrors, type Checkpoint } from '../../contract.ts';
import { isObject } from '../tools/argument-check.ts';
import type { Frame } from './frame.ts';

/** What a checkpoint's `state` is. */
export interface CheckpointState {
  /** Grows when an older gateway could no longer read it. */
  readonly version: 1;
  readonly frame: Frame;
  /** Of the whole turn. */
  readonly modelCalls: number;
  readonly maxModelCalls: number;
}

/** The state of a checkpoint. Throws `agent.checkpoint-invalid` for one that was written by a version that this one does not know. */
export function asState({ state }: Checkpoint): CheckpointState {
  if (isObject(state) && state.version === 1 && isObject(state.frame))
    return state as unknown as CheckpointState;
  throw AgentErrors.checkpointInvalid('The paused run was kept by another version of the gateway.');
}
