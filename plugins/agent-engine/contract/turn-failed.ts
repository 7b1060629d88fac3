import { defineDurableEvent, Type } from 'agent-gateway';

/**
 * A turn of a model or an agent began, and nothing of it is stored: it failed, its answer was refused, or it was
 * aborted. What is refused before (by limits, the input check, guards of what goes in) is no turn. Such a turn changes
 * nothing in the database, so there is no transaction that the event could be part of: it is published when the turn
 * ends, and delivered at least once from then on. It is lost where the process is killed before (with `kill -9`, in a
 * crash), or the database does not take it at that moment, which the log says. A subscriber that must know each turn
 * compares with `TurnFinished`, which is part of the transaction that stores a turn, or with what the client reports.
 * Agent tasks of workflows do not publish it: their runs show the failure.
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
    /** `aborted`: its caller went away, or the turn was aborted. */
    reason: Type.Enum(['failed', 'aborted']),
    /** The code of the error; null where there is none. */
    error: Type.Union([Type.String(), Type.Null()]),
  }),
);
