import { defineDurableEvent, Type } from 'agent-gateway';

/**
 * A turn of a model or an agent began, and nothing of it is stored: it failed, its answer was refused, or it was aborted. What is refused before (by limits, the input check, guards of
 * what goes in) is no turn. It changed nothing in the database, so this is published when it ends, and not together with anything: a process that is killed takes its turns along
 * without it. An agent task of a workflow tells by its run.
 */
export const TurnFailed = defineDurableEvent(
  'agent-engine.turn-failed',
  Type.Object({
    /** Of a first turn: there is no such session. Null where nothing would have been kept. */
    session_id: Type.Union([Type.String({ maxLength: 128 }), Type.Null()]),
    agent: Type.Union([Type.String(), Type.Null()]),
    /** The alias that was asked. */
    model: Type.String(),
    request_id: Type.String(),
    /** `aborted`: its caller went away, or somebody ended it. */
    reason: Type.Enum(['failed', 'aborted']),
    /** The code of the error; null where there is none. */
    error: Type.Union([Type.String(), Type.Null()]),
  }),
);
