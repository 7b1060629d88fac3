import { AnyId, Id, listOf, nullable, pageQuery, Timestamp, Type, withExample } from 'agent-gateway';
import type { JsonObject } from '../../workflow/contract.ts';
import { JOB_STATUSES, type JobStatus } from '../services/job-records.ts';

/** Any JSON object. */
const Data = Type.Unsafe<JsonObject>(Type.Object({}, { additionalProperties: true }));

const Status = Type.Unsafe<JobStatus>(Type.String({ enum: [...JOB_STATUSES], examples: ['waiting'] }));
const NodeId = Type.String({ examples: ['approve'] });
const GraphName = { minLength: 1, maxLength: 128, examples: ['discount'] };

const JobErrorSchema = Type.Object({
  code: Type.String(),
  message: Type.String(),
  node_id: Type.Optional(Type.String()),
});

/** A step of a job on the wire. */
const StepSchema = Type.Object({
  node_id: NodeId,
  node_name: NodeId,
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
  error: nullable(JobErrorSchema),
  due_at: nullable(Timestamp),
  created_at: Timestamp,
  started_at: nullable({ ...Timestamp, examples: ['2030-01-31T08:30:00.000Z'] }),
  completed_at: nullable(Timestamp),
});

const LISTED = {
  job_id: Id,
  graph_name: Type.String({ examples: ['discount'] }),
  status: Status,
  input: { ...Data, examples: [{ customer: 'Acme' }] },
  error: nullable(JobErrorSchema),
  created_at: Timestamp,
  started_at: nullable({
    ...Timestamp,
    description: 'When its first step began; null while it is pending, and where it was cancelled then',
    examples: ['2030-01-31T08:30:00.000Z'],
  }),
  completed_at: nullable(Timestamp),
};

/** A job on the wire (decisions 3.7). */
export const JobSchema = Type.Object({
  ...LISTED,
  variables: Data,
  output: nullable({ ...Data, description: 'The merged outputs of the nodes that lead into an end' }),
  steps: Type.Array(StepSchema),
});

/** A job that has ended, with its step, for the examples of the document. */
export function endedJob(status: 'completed' | 'cancelled') {
  const ended = { ...Status, examples: [status] };
  const step = Type.Object({
    ...StepSchema.properties,
    status: { ...StepSchema.properties.status, examples: [status] },
  });
  return withExample(Type.Object({ ...JobSchema.properties, status: ended, steps: Type.Array(step) }), {
    completed_at: '2030-01-31T08:31:00.000Z',
  });
}

/** Jobs of an answer: without what only their steps say. */
export const JobList = listOf('jobs', Type.Object(LISTED));

/** The `{job_id}` of a path. A text that cannot be an id is answered as unknown (404), not as malformed. */
export const JobParams = Type.Object({ job_id: AnyId });

/** What a job is started with. */
export const StartJob = Type.Object(
  {
    graph_name: Type.String({
      ...GraphName,
      description: 'Name of a `kind: Workflow` of agents.d, or `<plugin>/<name>` of a graph of a plugin',
    }),
    input: Type.Optional({
      ...Data,
      description: '512 KiB of JSON at most',
      examples: [{ customer: 'Acme' }],
    }),
  },
  { additionalProperties: false },
);

/** What a start answers. */
export const StartedJob = Type.Object({ job_id: Id, status: { ...Status, examples: ['pending'] } });

/** The header that identifies a repeated start. */
export const StartHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      pattern: '^[\\x20-\\x7e]{1,255}$',
      patternErrorMessage: 'must have 1 to 255 printable ASCII characters',
      description: '1 to 255 printable characters; the same key and body give the same job',
    }),
  ),
});

/** Which jobs are asked for. */
export const JobQuery = Type.Object({
  ...pageQuery({ defaultLimit: 50 }).properties,
  status: Type.Optional(Type.Unsafe<JobStatus>(Type.String({ enum: [...JOB_STATUSES] }))),
  graph_name: Type.Optional(Type.String({ maxLength: 128 })),
});

/** What a caller sends to a job that waits. */
export const ResumeJob = Type.Object(
  {
    node_id: Type.Optional(
      Type.String({ maxLength: 64, description: 'The node that is meant, where several wait' }),
    ),
    outcome: Type.Optional(Type.String({ maxLength: 256, examples: ['approved'] })),
    output: Type.Optional(Data),
    variables: Type.Optional({ ...Data, description: 'Merged into the variables of the job' }),
  },
  { additionalProperties: false },
);

/** The header that names the event after which a stream continues. */
export const StreamHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({
      pattern: '^[0-9]{0,15}$',
      patternErrorMessage: 'must be the id of an event: 15 digits at most',
      description: 'Id of the last event that a stream has brought',
    }),
  ),
});

/** The events of a job. */
export const JobStream = Type.String({
  description:
    'Server-sent events `job.started`, `step.started`, `step.completed`, `step.failed`, `job.waiting`, `job.completed`, `job.failed` and `job.cancelled`, ' +
    'with the ids 1, 2, 3 …; closed after one of the last three',
  examples: [
    'event: job.started\nid: 1\ndata: {"seq":1,"job_id":"01a209b6-35cd-70a2-9cd1-0d23f60713e5","type":"job.started","data":{},"created_at":"2030-01-31T08:30:00.000Z"}\n\n' +
      'event: job.completed\nid: 2\ndata: {"seq":2,"job_id":"01a209b6-35cd-70a2-9cd1-0d23f60713e5","type":"job.completed","data":{"output":{}},"created_at":"2030-01-31T08:31:00.000Z"}\n\n',
  ],
});
