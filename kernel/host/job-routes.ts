import { pageOf, pageQuery } from '../../foundation/base/page.ts';
import { withExample } from '../../foundation/base/schema-example.ts';
import { Type } from '../../foundation/base/type.ts';
import { Id, listOf, Timestamp } from '../../foundation/base/wire.ts';
import { DEPLOYMENT } from '../../foundation/messages/jobs/job-table.ts';
import { JobErrors } from '../../foundation/messages/jobs/jobs.ts';
import type { JobAdministration, JobRecord } from '../../foundation/messages/jobs/open-jobs.ts';
import { redactValue } from '../../foundation/observability/redact-fields.ts';
import { redactLine } from '../../foundation/observability/redact-text.ts';
import { access } from '../api/access.ts';
import { reply } from '../api/reply.ts';
import { type Route, route } from '../api/route.ts';

const READ = access.governance(['ops:read'], { operator: true });
const WRITE = access.governance(['ops:write'], { operator: true });

const MAX_PAGE = 200;

const Job = Type.Object({
  id: Id,
  queue: Type.String({
    description: 'Which work it is: `<plugin>.<work>`',
    examples: ['runtime.webhook-delivery'],
  }),
  state: Type.Enum(['waiting', 'scheduled', 'running', 'dead'], { examples: ['dead'] }),
  tenant_id: Type.Union([Id, Type.Null()], { description: 'Null for work of the deployment' }),
  payload: Type.Unknown({ description: 'Any JSON, without what looks like a secret' }),
  attempt: Type.Integer({ description: 'Attempts that have begun', examples: [8] }),
  max_attempts: Type.Integer({ examples: [8] }),
  error: Type.Union([Type.String(), Type.Null()], {
    description: 'Why the latest attempt failed',
    examples: ['The receiver answered 500.'],
  }),
  created_at: Timestamp,
  due_at: Type.String({
    ...Timestamp,
    description:
      'Scheduled: when it begins. Running: the end of its lease. Dead: when it is forgotten. Waiting: since when',
  }),
});
const IdParams = Type.Object({ id: Type.String({ maxLength: 64 }) });

/** The administration of durable work, over all tenants: what waits, what failed for good, and another try for that. */
export function jobRoutes(jobs: JobAdministration): readonly Route[] {
  const found = async (id: string) => {
    const job = await jobs.find(id);
    if (job === undefined)
      throw JobErrors.notFound(`There is no job "${id}"; one that was done is forgotten`);
    return shown(job);
  };
  return [
    route({
      method: 'GET',
      path: '/admin/v1/jobs',
      access: READ,
      summary: 'List jobs that are not done, the newest first',
      tag: 'jobs',
      schema: {
        query: Type.Object({
          ...pageQuery({ defaultLimit: 50 }).properties,
          queue: Type.Optional(Type.String({ maxLength: 100 })),
          state: Type.Optional(Job.properties.state),
          tenant_id: Type.Optional(Type.String({ maxLength: 64 })),
        }),
        responses: {
          200: listOf('jobs', Job),
        },
      },
      handle: async ({ query }) => {
        const { queue, state, tenant_id: tenantId } = query;
        const filter = {
          ...(queue === undefined ? {} : { queue }),
          ...(state === undefined ? {} : { state: state as JobRecord['state'] }),
          ...(tenantId === undefined ? {} : { tenantId }),
        };
        const page = pageOf(query, MAX_PAGE);
        const found = await jobs.list(filter, page);
        return { jobs: found.jobs.map(shown), total: found.total, ...page };
      },
    }),
    route({
      method: 'GET',
      path: '/admin/v1/jobs/{id}',
      access: READ,
      summary: 'Read a job that is not done',
      tag: 'jobs',
      schema: { params: IdParams, responses: { 200: Job } },
      handle: ({ params }) => found(params.id),
    }),
    route({
      method: 'POST',
      path: '/admin/v1/jobs/{id}/retry',
      access: WRITE,
      summary: 'Have a dead job begin anew, with all of its attempts',
      tag: 'jobs',
      schema: { params: IdParams, responses: { 200: withExample(Job, { state: 'waiting', attempt: 0 }) } },
      handle: async ({ params }) => shown(await jobs.retry(params.id)),
    }),
    route({
      method: 'DELETE',
      path: '/admin/v1/jobs/{id}',
      access: WRITE,
      summary: 'Forget a dead job',
      tag: 'jobs',
      schema: { params: IdParams, responses: { 204: null } },
      handle: async ({ params }) => {
        await jobs.delete(params.id);
        return reply.empty();
      },
    }),
  ];
}

function shown(job: JobRecord) {
  return {
    id: job.id,
    queue: job.queue,
    state: job.state,
    tenant_id: job.tenantId === DEPLOYMENT ? null : job.tenantId,
    payload: JSON.parse(redactLine(JSON.stringify(redactValue(JSON.parse(job.payload))))) as unknown,
    attempt: job.attempt,
    max_attempts: job.maxAttempts,
    error: job.error,
    created_at: new Date(job.createdAt).toISOString(),
    due_at: new Date(job.dueAt).toISOString(),
  };
}
