import {
  access,
  type Call,
  pageOf,
  periodProblems,
  type Route,
  refusing,
  reply,
  route,
  withExample,
} from 'agent-gateway';
import { userOf } from '../../records/contract.ts';
import { type WorkflowDefinitions, type WorkflowEngine, WorkflowErrors } from '../contract/engine.ts';
import { fingerprintOf } from '../contract/fingerprint.ts';
import type { JsonObject } from '../contract/graph.ts';
import type { RunRecord } from '../contract/runs.ts';
import {
  RunList,
  RunListQuery,
  RunParams,
  RunSchema,
  RunWithSteps,
  StartHeaders,
  StartQuery,
  StartRun,
  StepParams,
  StepWithAttempts,
  toRunFilter,
} from './run-schemas.ts';

/** Runs of one answer: each has its input and its variables, which may be large. */
const MAX_PAGE = 100;
const PATH = '/v1/workflow-runs';

const tag = 'workflow-runs';
const readers = { tag, access: access.role('user', { scopes: ['workflow:read', 'read'] }) } as const;
const starters = { tag, access: access.role('user', { scopes: ['workflow:run', 'execute'] }) } as const;
/**
 * Callers that may start runs may cancel them, and so may callers that may write; a key that may only cancel has
 * `workflow:cancel`.
 */
const cancellers = {
  tag,
  access: access.role('user', { scopes: ['workflow:cancel', 'execute', 'write'] }),
} as const;

/** Runs of workflows (specification 2, Endpoints; decisions 2.7). */
export function runRoutes(
  engine: WorkflowEngine,
  definitions: Pick<WorkflowDefinitions, 'resolve'>,
): readonly Route[] {
  return [
    route({
      ...starters,
      method: 'POST',
      path: PATH,
      summary: 'Start a run of a published workflow',
      description:
        'Returns as soon as the run is stored, or with `wait` when it has settled. With an `Idempotency-Key` that was used with ' +
        'the same body the answer is 200 with the run of that time.',
      // The definition, which the body names.
      failures: ['not-found'],
      schema: {
        query: StartQuery,
        headers: StartHeaders,
        body: StartRun,
        responses: { 200: RunSchema, 201: RunSchema },
      },
      handle: async (call) => {
        const { body, identity, query, signal, tenant } = call;
        const input = (body.input ?? {}) as JsonObject;
        const key = call.headers['idempotency-key'];
        const idempotency =
          key === undefined ? undefined : { key, fingerprint: fingerprintOf(body as JsonObject) };
        // Before the definition is looked up, since it may have been archived after the first start.
        const before = idempotency && (await engine.startedWith({ tenantId: tenant.id, idempotency }));
        const started =
          before === undefined
            ? await engine.start({
                tenantId: tenant.id,
                input,
                startedBy: identity.id,
                userId: userOf(call),
                idempotency,
                version: await definitions.resolve(tenant.id, body.definition_id).catch(rethrowWithPlace),
              })
            : { run: before, isNew: false };
        auditChange(call, started.run);
        const timeoutMs = (query.wait ?? 0) * 1000;
        const place = { tenantId: tenant.id, runId: started.run.id };
        const isSettled = timeoutMs === 0 || started.run.status !== 'running';
        const run = isSettled ? started.run : await engine.settled({ ...place, timeoutMs, signal });
        return reply.json(started.isNew ? 201 : 200, run);
      },
    }),
    route({
      ...readers,
      method: 'GET',
      path: PATH,
      summary: 'List runs, newest first',
      schema: { query: RunListQuery, responses: { 200: RunList } },
      refuse: refusing((_, query) => periodProblems(query)),
      handle: async ({ query, tenant }) => {
        const page = pageOf(query, MAX_PAGE);
        const { runs, total } = await engine.list(tenant.id, { ...toRunFilter(query), ...page });
        return { workflow_runs: runs, total, ...page };
      },
    }),
    route({
      ...readers,
      method: 'GET',
      path: `${PATH}/{id}`,
      summary: 'Read a run with its steps',
      schema: { params: RunParams, responses: { 200: RunWithSteps } },
      handle: (call) => engine.get(placeOf(call)),
    }),
    route({
      ...readers,
      method: 'GET',
      path: `${PATH}/{id}/steps/{step_run_id}`,
      summary: 'Read a step of a run with its attempts',
      schema: { params: StepParams, responses: { 200: StepWithAttempts } },
      handle: (call) => engine.step({ ...placeOf(call), stepRunId: call.params.step_run_id }),
    }),
    route({
      ...cancellers,
      method: 'POST',
      path: `${PATH}/{id}/cancel`,
      summary: 'Cancel a run: what is under way is aborted, what waits is closed',
      schema: {
        params: RunParams,
        responses: {
          200: withExample(RunSchema, { status: 'cancelled', completed_at: '2030-01-31T08:31:00.000Z' }),
        },
      },
      handle: async (call) => {
        const run = await engine.cancel({ ...placeOf(call), by: call.identity.id });
        auditChange(call, run);
        return run;
      },
    }),
    route({
      ...starters,
      method: 'POST',
      path: `${PATH}/{id}/retry`,
      summary: 'Run every failed step of a paused run again',
      schema: { params: RunParams, responses: { 200: withExample(RunSchema, { status: 'running' }) } },
      handle: async (call) => {
        const run = await engine.retry({ ...placeOf(call), by: call.identity.id });
        auditChange(call, run);
        return run;
      },
    }),
  ];
}

/** Records in the audit log which run it was, and its status. */
function auditChange(call: Pick<Call, 'audit'>, run: RunRecord): void {
  const { id, definition_id, version, status } = run;
  call.audit({ changes: { run_id: id, definition_id, version, status } });
}

/** Rethrows, and adds to `workflow.definition-not-found` the member of the body that named the definition. */
function rethrowWithPlace(thrown: unknown): never {
  const { definitionNotFound: notFound } = WorkflowErrors;
  if (!notFound.is(thrown)) throw thrown;
  const message = 'must be the id of a published definition, or the name of a workflow of agents.d';
  throw notFound(thrown.detail, { cause: thrown, errors: [{ pointer: '/body/definition_id', message }] });
}

function placeOf({ tenant, params }: Pick<Call, 'tenant'> & { readonly params: { readonly id: string } }) {
  return { tenantId: tenant.id, runId: params.id };
}
