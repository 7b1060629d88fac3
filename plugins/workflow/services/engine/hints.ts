import { defineEvent, defineHint, type EventRef, type HintRef } from 'agent-gateway';
import Type from 'typebox';
import type { RunPlace } from '../../contract/engine.ts';

/** A run, as replicas tell each other of it. */
const Place = Type.Object({
  tenant_id: Type.String({ maxLength: 64 }),
  run_id: Type.String({ maxLength: 64 }),
});
const Changed = Type.Object({ ...Place.properties, seq: Type.Integer({ minimum: 0 }) });

/** A run on the wire between replicas. */
export interface PlaceHint {
  readonly tenant_id: string;
  readonly run_id: string;
}

/** What the replicas of one engine tell each other. All of them are hints: the tables say what is so. */
export interface EngineHints {
  /** Some replica should look at a run. */
  readonly look: HintRef<PlaceHint>;
  /** Whoever owns the run should look at it: somebody else has changed it. */
  readonly touched: EventRef<PlaceHint>;
  /** Somebody follows a run here: whoever changes it, tell. */
  readonly follow: EventRef<PlaceHint>;
  /** A run that somebody follows has events up to this number. */
  readonly changed: EventRef<PlaceHint & { readonly seq: number }>;
}

/** The hints of the engine of that name; engines over other tables do not hear them. */
export function engineHints(name: string): EngineHints {
  return {
    look: defineHint(`${name}.look`, Place),
    touched: defineEvent(`${name}.run-touched`, Place),
    follow: defineEvent(`${name}.follow`, Place),
    changed: defineEvent(`${name}.changed`, Changed),
  };
}

/** The run of a hint. */
export function placeOf({ tenant_id, run_id }: PlaceHint): RunPlace {
  return { tenantId: tenant_id, runId: run_id };
}

/** A run as a hint tells of it. */
export function hintOf({ tenantId, runId }: RunPlace): PlaceHint {
  return { tenant_id: tenantId, run_id: runId };
}
