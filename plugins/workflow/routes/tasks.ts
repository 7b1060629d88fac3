import {
  AnyId,
  access,
  hasAnyScope,
  Id,
  nullable,
  pageOf,
  pageQuery,
  ROLES,
  type Route,
  route,
  Timestamp,
  Type,
  withExample,
} from 'agent-gateway';
import { type WorkflowEngine, WorkflowErrors } from '../contract/engine.ts';
import type { TaskCompletion } from '../contract/runs.ts';
import { isTaskAdmin } from '../services/engine/refusals.ts';
import { Data, StepSchema } from './run-schemas.ts';

const tag = 'workflow-tasks';
/** Scopes with which a caller may complete tasks. */
const COMPLETE: readonly string[] = ['workflow:run', 'execute'];

/**
 * Human tasks (specification 2, Human task completion payload; decisions 2.5). Any role may call: a task may be
 * assigned to each of them. Only the credential decides who may complete which task, regardless of `X-Svc-User-Id`.
 */
export function taskRoutes(engine: WorkflowEngine): readonly Route[] {
  return [
    route({
      tag,
      method: 'GET',
      path: '/v1/workflow-tasks',
      access: access.role(ROLES, { scopes: ['workflow:read', 'read'] }),
      summary: 'List the human tasks that wait for you, your roles, or anybody, oldest first',
      description:
        'Without `all`, a credential that may not complete any task (scopes `workflow:run`, `execute`) sees none.',
      schema: { query: TaskQuery, responses: { 200: TaskList } },
      handle: ({ identity, query, tenant }) => {
        if (query.all && !isTaskAdmin(identity)) {
          throw WorkflowErrors.allTasksForbidden('Leave "all" out to list the tasks that you may complete.');
        }
        if (!query.all && !hasAnyScope(identity.scopes, COMPLETE)) return [];
        const page = pageOf(query);
        return engine.tasks({ tenantId: tenant.id, identity: query.all ? undefined : identity, ...page });
      },
    }),
    route({
      tag,
      method: 'POST',
      path: '/v1/workflow-tasks/{step_run_id}/complete',
      access: access.role(ROLES, { scopes: COMPLETE }),
      summary: 'Complete a human task; the first completion counts',
      // Most tasks have a single outcome and need no payload.
      bodyOptional: true,
      schema: { params: TaskParams, body: CompleteTask, responses: { 200: Completed } },
      handle: async (call) => {
        const { body, identity, params, tenant } = call;
        const step = await engine.completeTask({
          tenantId: tenant.id,
          stepRunId: params.step_run_id,
          identity,
          completion: body as TaskCompletion,
        });
        const { id: step_run_id, run_id, node_id, outcome } = step;
        call.audit({ changes: { step_run_id, run_id, node_id, outcome } });
        return step;
      },
    }),
  ];
}

/** Which tasks are asked for. */
const TaskQuery = Type.Object({
  ...pageQuery({ defaultLimit: 100 }).properties,
  all: Type.Boolean({ default: false, description: 'Those of everybody; for administrators of the tenant' }),
});

/** The `{step_run_id}` of a path. */
const TaskParams = Type.Object({ step_run_id: Type.String() });

/** The bare list of the specification (specification 2, Endpoints). */
const TaskList = Type.Array(
  Type.Object({
    step_run_id: Id,
    run_id: Id,
    node_id: Type.String({ examples: ['approve'] }),
    node_name: Type.String({ examples: ['approve'] }),
    status: Type.Literal('waiting'),
    created_at: Timestamp,
    definition_id: AnyId,
    assignee: nullable(Type.String()),
    instructions: nullable(Type.String({ examples: ['May Acme have a discount?'] })),
    outcomes: Type.Array(Type.String(), {
      description: 'Those that lead on; empty where any will do',
      examples: [['approved', 'refused']],
    }),
    due_at: nullable(Timestamp),
  }),
);

const Completed = withExample(StepSchema, {
  status: 'completed',
  output: {},
  outcome: 'approved',
  completed_at: '2030-01-31T08:31:00.000Z',
});

/** What a person sends to complete a task. */
const CompleteTask = Type.Object(
  {
    outcome: Type.Optional(
      Type.String({
        maxLength: 256,
        pattern: '^[^\\u0000\\p{Cs}]*$',
        patternErrorMessage: 'must not hold the character U+0000, or half of a surrogate pair',
        description: 'Decides which edge is taken',
        examples: ['approved'],
      }),
    ),
    output: Type.Optional({ ...Data, description: 'Becomes the output of the step' }),
    variables: Type.Optional({
      ...Data,
      description: 'Merged into the variables of the run, member by member',
    }),
  },
  { additionalProperties: false },
);
