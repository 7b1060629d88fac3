import {
  AnyId,
  Id,
  listOf,
  nullable,
  pageQuery,
  periodEnd,
  periodProblems,
  requireSound,
  Timestamp,
  Type,
} from 'agent-gateway';
import type { Static } from 'typebox';
import type { RunQuery } from '../contract/engine.ts';
import { RUN_EVENT_TYPES, RUN_STATUSES } from '../contract/runs.ts';

const Moment = Type.String({
  maxLength: 40,
  description: 'RFC 3339, or a date (UTC), which as `to` includes that day',
});
/** Any JSON object. */
export const Data = Type.Object({}, { additionalProperties: true });
const StepError = Type.Object({
  code: Type.String(),
  message: Type.String(),
  node: Type.Optional(Type.String()),
});

/** A run on the wire (decisions 2.3). */
export const RunSchema = Type.Object({
  id: Id,
  definition_id: AnyId,
  version_id: AnyId,
  version: Type.Integer({ examples: [1] }),
  status: Type.String({ enum: [...RUN_STATUSES], examples: ['waiting'] }),
  input: { ...Data, examples: [{ customer: 'Acme' }] },
  variables: Data,
  error: nullable(StepError),
  started_by: AnyId,
  started_at: Timestamp,
  completed_at: nullable(Timestamp),
  updated_at: Timestamp,
});

/** A step run on the wire (decisions 2.3). */
export const StepSchema = Type.Object({
  id: Id,
  run_id: Id,
  node_id: Type.String({ examples: ['approve'] }),
  node_name: Type.String({ examples: ['approve'] }),
  node_type: Type.String({ examples: ['human_task'] }),
  status: Type.String({
    enum: ['pending', 'running', 'waiting', 'completed', 'failed', 'skipped', 'cancelled'],
    examples: ['waiting'],
  }),
  attempt: Type.Integer(),
  assignee: nullable(Type.String()),
  input: nullable({ ...Data, examples: [{ instructions: 'May Acme have a discount?' }] }),
  output: nullable(Data),
  outcome: nullable(Type.String()),
  error: nullable(StepError),
  due_at: nullable(Timestamp),
  created_at: Timestamp,
  started_at: nullable({ ...Timestamp, examples: ['2030-01-31T08:30:00.000Z'] }),
  completed_at: nullable(Timestamp),
});

/** A run with its steps. */
export const RunWithSteps = Type.Object({ ...RunSchema.properties, steps: Type.Array(StepSchema) });

/** A step run with every delivery of every attempt. */
export const StepWithAttempts = Type.Object({
  ...StepSchema.properties,
  attempts: Type.Array(
    Type.Object({
      attempt: Type.Integer(),
      delivery: Type.Integer(),
      status: Type.String({ enum: ['running', 'completed', 'failed', 'cancelled', 'interrupted'] }),
      started_at: Timestamp,
      completed_at: nullable(Timestamp),
      error: nullable(StepError),
      record: nullable(Data),
    }),
  ),
});

/** An event of a run on the wire (decisions 2.7). */
export const RunEventSchema = Type.Object({
  seq: Type.Integer({ description: 'Counts from 1 in its run, without gaps', examples: [1] }),
  type: Type.String({ enum: [...RUN_EVENT_TYPES] }),
  node_id: Type.Optional(Type.String()),
  step_run_id: Type.Optional(Id),
  data: { ...Data, examples: [{ by: '01a209b6-2688-7509-9c34-9e59379066ee' }] },
  created_at: Timestamp,
});

/** The `{id}` of a path. A text that cannot be an id is answered as unknown (404), not as malformed. */
export const RunParams = Type.Object({ id: Type.String() });

/** The place of a step in a path. */
export const StepParams = Type.Object({ ...RunParams.properties, step_run_id: Type.String() });

/** What a run is started with. */
export const StartRun = Type.Object(
  {
    definition_id: Type.String({
      ...AnyId,
      minLength: 1,
      maxLength: 128,
      description: 'Id of a published definition, or the name of a workflow of agents.d',
    }),
    input: Type.Optional({
      ...Data,
      description: '512 KiB of JSON at most',
      examples: [{ customer: 'Acme' }],
    }),
  },
  { additionalProperties: false },
);

/** How a run is started. */
export const StartQuery = Type.Object({
  wait: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 30,
      description:
        'Seconds to wait for the run to settle: completed, paused, cancelled, or waiting for somebody',
    }),
  ),
});

/** The header that identifies a repeated start. */
export const StartHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      pattern: '^[\\x20-\\x7e]{1,255}$',
      patternErrorMessage: 'must have 1 to 255 printable ASCII characters',
      description: '1 to 255 printable characters; the same key and body give the same run',
    }),
  ),
});

/** Which runs are asked for. */
export const RunListQuery = Type.Object({
  ...pageQuery({ defaultLimit: 50 }).properties,
  definition_id: Type.Optional(
    Type.String({
      maxLength: 128,
      pattern: '^[^\\u0000]*$',
      patternErrorMessage: 'must not hold the character U+0000',
    }),
  ),
  status: Type.Optional(Type.Unsafe<RunQuery['status']>(Type.String({ enum: [...RUN_STATUSES] }))),
  from: Type.Optional(Moment),
  to: Type.Optional(Moment),
});

/** The runs of an answer. */
export const RunList = listOf('workflow_runs', RunSchema);

/** The filter in a query. Throws 400 naming each bound of the period that is not a valid time. */
export function toRunFilter(query: Static<typeof RunListQuery>): Omit<RunQuery, 'limit' | 'offset'> {
  requireSound(periodProblems(query));
  const last = periodEnd(query, 'to');
  // `to` itself belongs to the period, for callers; the engine wants the first moment behind it.
  const to = last && new Date(last.getTime() + 1);
  return { definitionId: query.definition_id, status: query.status, from: periodEnd(query, 'from'), to };
}
