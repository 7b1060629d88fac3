import { access, type Call, pageOf, type Route, reply, route, withExample } from 'agent-gateway';
import type { JobRecord } from '../services/job-records.ts';
import type { JobCaller, Jobs } from '../services/jobs.ts';
import {
  endedJob,
  JobList,
  JobParams,
  JobQuery,
  JobSchema,
  JobStream,
  ResumeJob,
  StartedJob,
  StartHeaders,
  StartJob,
  StreamHeaders,
} from './job-schemas.ts';

/** Jobs of one answer, as of runs: each has its input, which may be large. */
const MAX_PAGE = 100;
const PATH = '/jobs';

const readers = { tag: 'jobs', access: access.open(['read']) } as const;
const runners = { tag: 'jobs', access: access.open(['execute']) } as const;

/** The execution server (specification 3, Execution server; decisions 3.7). */
export function jobRoutes(jobs: Jobs): readonly Route[] {
  return [
    route({
      ...runners,
      method: 'POST',
      path: PATH,
      summary: 'Start a job; it goes on by itself',
      description:
        'A repetition with the same `Idempotency-Key` and body is 200 with the job of that time, and its status now.',
      // The graph, which the body names.
      failures: ['not-found'],
      schema: {
        headers: StartHeaders,
        body: StartJob,
        responses: { 200: withExample(StartedJob, { status: 'waiting' }), 202: StartedJob },
      },
      handle: async (call) => {
        const { body, headers } = call;
        const started = await jobs.start(callerOf(call), {
          graphName: body.graph_name,
          input: body.input ?? {},
          idempotencyKey: headers['idempotency-key'],
        });
        const { job_id, graph_name, status } = started.job;
        auditJob(call, { job_id, graph_name, status });
        return started.isNew
          ? reply.json(202, { job_id, status: 'pending' })
          : reply.json(200, { job_id, status });
      },
    }),
    route({
      ...readers,
      method: 'GET',
      path: PATH,
      summary: 'List jobs, newest first',
      schema: { query: JobQuery, responses: { 200: JobList } },
      handle: async ({ query, tenant }) => {
        const page = pageOf(query, MAX_PAGE);
        const { status, graph_name: graphName } = query;
        return { ...(await jobs.list(tenant.id, { ...page, status, graphName })), ...page };
      },
    }),
    route({
      ...readers,
      method: 'GET',
      path: `${PATH}/{job_id}`,
      summary: 'Read a job with its steps',
      schema: { params: JobParams, responses: { 200: JobSchema } },
      handle: ({ params, tenant }) => jobs.get({ tenantId: tenant.id, runId: params.job_id }),
    }),
    route({
      ...readers,
      method: 'GET',
      path: `${PATH}/{job_id}/stream`,
      summary: 'Follow the events of a job, from the first on or after `Last-Event-ID`',
      description:
        'The job goes on without its readers. 204 where all events were read: browsers ask again until then.',
      countsAsStream: () => true,
      schema: { params: JobParams, headers: StreamHeaders, responses: { 204: null }, stream: JobStream },
      handle: async ({ headers, params, tenant }) => {
        const place = { tenantId: tenant.id, runId: params.job_id };
        const after = Number(headers['last-event-id'] ?? 0);
        // A job that is not there is 404 before a stream begins.
        if (await jobs.isRead(place, after)) return reply.empty();
        return reply.sse(async (stream) => {
          for await (const event of jobs.follow({ ...place, after, signal: stream.signal })) {
            await stream.send({ id: String(event.seq), event: event.type, data: JSON.stringify(event) });
          }
        });
      },
    }),
    route({
      ...runners,
      method: 'POST',
      path: `${PATH}/{job_id}/cancel`,
      summary: 'Cancel a job: what is under way is aborted, what waits is closed',
      schema: {
        params: JobParams,
        responses: { 200: endedJob('cancelled') },
      },
      handle: async (call) => {
        const job = await jobs.cancel(callerOf(call), call.params.job_id);
        auditJob(call, job);
        return job;
      },
    }),
    route({
      ...runners,
      method: 'POST',
      path: `${PATH}/{job_id}/resume`,
      summary: 'Complete the human task that a job waits for',
      description:
        'Of several at once one wins; for the others the job does not wait any more (409), as for a repetition. ' +
        'Where another node may wait by then, only `node_id` keeps a repetition from completing that one.',
      bodyOptional: true,
      schema: {
        params: JobParams,
        body: ResumeJob,
        responses: { 200: endedJob('completed') },
      },
      handle: async (call) => {
        const { node_id: nodeId, ...completion } = call.body;
        const job = await jobs.resume(callerOf(call), call.params.job_id, { nodeId, ...completion });
        auditJob(call, job);
        return job;
      },
    }),
  ];
}

function callerOf({ tenant, identity, userId }: Pick<Call, 'tenant' | 'identity' | 'userId'>): JobCaller {
  return { tenantId: tenant.id, identity, userId: userId || identity.id };
}

/** Records in the audit log which job it was, and its status. */
function auditJob(
  call: Pick<Call, 'audit'>,
  { job_id, graph_name, status }: Pick<JobRecord, 'job_id' | 'graph_name' | 'status'>,
): void {
  call.audit({ changes: { job_id, graph_name, status } });
}
