import { defineDurableEvent, Type } from 'agent-gateway';

const Run = {
  run_id: Type.String(),
  definition_id: Type.String(),
  /** Of the definition. */
  version: Type.Integer(),
};

/** A run is stored, and begins. */
export const RunStarted = defineDurableEvent('workflow.run-started', Type.Object(Run));

/** A run is over. Not published for runs that are deleted with a user's data while they are in progress. */
export const RunEnded = defineDurableEvent(
  'workflow.run-ended',
  Type.Object({
    ...Run,
    status: Type.Enum(['completed', 'cancelled']),
    duration_ms: Type.Integer({ minimum: 0 }),
  }),
);

/** A step failed for good and nothing else of the run can go on: it is paused, until a caller retries or cancels it. */
export const RunFailed = defineDurableEvent(
  'workflow.run-failed',
  Type.Object({
    ...Run,
    /** The code of the error, as runs have it; without its text. */
    error: Type.String(),
    /** The node that failed. */
    node_id: Type.Union([Type.String(), Type.Null()]),
  }),
);
