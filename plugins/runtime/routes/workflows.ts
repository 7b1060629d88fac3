import {
  AnyId,
  access,
  type Call,
  type FieldError,
  Id,
  isJsonObject,
  type Route,
  refusing,
  reply,
  requireSound,
  route,
  Timestamp,
  Type,
  type UnreadBody,
} from 'agent-gateway';
import { chatCallOf, textOf } from '../../agent-engine/contract.ts';
import { userOf } from '../../records/contract.ts';
import type { JsonObject, RunPlace, StartableVersion } from '../../workflow/contract.ts';
import { enteredProblems, readMessages } from '../services/v3-chat/entered-messages.ts';
import { resumeProblems } from '../services/workflows/resume-data.ts';
import type { WorkflowChats } from '../services/workflows/workflow-chats.ts';
import type { RunCaller, WorkflowRuns } from '../services/workflows/workflow-runs.ts';
import { EnterMessages, OpenId, ok, okSchema, openObject, Seconds } from './coze.ts';
import { underV2 } from './paths.ts';
import { sendTo, V3Stream } from './v3-chat.ts';

const HISTORY = '/workflows/{workflow_id}/run_histories/{execute_id}';

/** The header of an answer that holds the id of its run. */
const EXECUTE_HEADER = 'x-svc-execute-id';

const WorkflowId = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'Id of a published definition, or name of a `kind: Workflow` of agents.d',
  examples: ['discount'],
});
const Parameters = Type.Unsafe<JsonObject>(Type.Record(Type.String(), Type.Unknown()));
const RunBody = { workflow_id: WorkflowId, parameters: openObject(Parameters) };

const WorkflowSchema = Type.Object({
  id: Type.String({ examples: ['discount'] }),
  name: Type.String({ examples: ['discount'] }),
  description: Type.String({ examples: ['Discounts that somebody approves'] }),
  status: Type.Enum(['draft', 'published', 'archived'], { examples: ['published'] }),
  latest_version: Type.Union([Type.Integer(), Type.Null()]),
  created_at: Timestamp,
  updated_at: Timestamp,
});

/** What became of a run (`WorkflowExecuteHistory`); the SDK for Python insists on every member. */
const History = Type.Object({
  execute_id: Id,
  execute_status: Type.Enum(['Running', 'Success', 'Fail'], {
    description: '`Running` also while the run waits for somebody',
  }),
  output: Type.String({
    description: 'JSON text of the result of a run that succeeded',
    examples: ['{"outcome":"approved"}'],
  }),
  error_code: Type.String({ description: 'Empty where nothing failed', examples: [''] }),
  error_message: Type.String({ examples: [''] }),
  create_time: Seconds,
  update_time: Seconds,
  logid: AnyId,
  run_mode: Type.Literal(2, { description: 'Every run goes on without its caller' }),
  bot_id: Type.Literal(''),
  connector_id: Type.Literal(''),
  connector_uid: Type.Literal(''),
  debug_url: Type.Literal(''),
  token: Type.Literal('0'),
  cost: Type.Literal('0'),
});

/** The members of `History` that the gateway has nothing for. */
const UNUSED = {
  run_mode: 2,
  bot_id: '',
  connector_id: '',
  connector_uid: '',
  debug_url: '',
  token: '0',
  cost: '0',
} as const;

const EVENT_ID = '01a209b6-35cd-70a2-9cd1-0d23f60713e5/01a209b6-35cd-70a4-b05b-b8ac2416a49e';

const answerHeaders = Type.Object({ [EXECUTE_HEADER]: Type.String({ description: 'The run' }) });
const LastEventId = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({ pattern: '^[0-9]{0,15}$', patternErrorMessage: 'must be the id of an event' }),
  ),
});

const common = { errors: 'coze', tag: 'workflows', failures: ['not-found'] } as const;
const run = { ...common, method: 'POST', access: access.open(['execute', 'workflow:run']) } as const;
const streaming = {
  ...run,
  countsAsStream: () => true,
  description: 'The run goes on without its reader; `x-svc-execute-id` names it.',
} as const;
const RunStream = Type.String({
  description:
    'Server-sent events `Message`, `Interrupt`, `Error` and `Done`, with the number of the stored event as `id`',
  examples: [
    'event: Message\nid: 7\ndata: {"content":"{}","node_title":"End","node_seq_id":"0","node_is_finish":true}\n\nevent: Done\nid: 8\ndata: {}\n\n',
  ],
});

/**
 * Runs of workflows in the form of the compatible SDK, below `/api/v2`, `/api/v1` and at the SDK's own paths
 * (specification 3; decisions 3.2, 3.3).
 */
export function workflowRoutes(runs: WorkflowRuns, chats: WorkflowChats): readonly Route[] {
  const start = async (call: Call, workflowId: string, parameters: JsonObject | null | undefined) => {
    const caller = callerOf(call);
    const version = await runs.resolve(caller, workflowId);
    const place = await runs.start(caller, version, parameters ?? {});
    auditStart(call, place, version);
    return place;
  };
  const stream = (place: RunPlace, after: number | undefined) =>
    reply.sse(async (sse) => {
      for await (const { seq, event, data } of runs.events(place, { after, signal: sse.signal })) {
        const id = seq === undefined ? {} : { id: String(seq) };
        await sse.send({ ...id, event, data: JSON.stringify(data) });
      }
    }, executeHeader(place));

  return [
    ...at('/workflows/run', '/v1/workflow/run', (path) =>
      route({
        ...run,
        path,
        summary: 'Run a workflow and wait for its result',
        failures: ['not-found', 'upstream', 'timeout'],
        schema: {
          answerHeaders,
          body: Type.Object({
            ...RunBody,
            is_async: Type.Optional(Type.Boolean({ description: 'Answers when the run has begun' })),
          }),
          responses: {
            200: Type.Object({
              ...okSchema(
                Type.String({
                  description: 'JSON text of the result; empty with `is_async`',
                  examples: ['{"outcome":"approved"}'],
                }),
              ).properties,
              execute_id: Id,
              debug_url: Type.Literal('', { description: 'The SDK for Python finds the result by it' }),
            }),
          },
        },
        handle: async (call) => {
          const { workflow_id, parameters, is_async } = call.body;
          const place = await start(call, workflow_id, parameters);
          const data = is_async === true ? '' : JSON.stringify(await runs.result(place, call.signal));
          const answer = { code: 0, msg: '', data, execute_id: place.runId, debug_url: '' };
          return reply.json(200, answer, executeHeader(place));
        },
      }),
    ),
    ...at(HISTORY, `/v1${HISTORY}`, (path) =>
      route({
        ...common,
        method: 'GET',
        path,
        access: access.open(['read', 'workflow:read']),
        summary: 'Read what became of a run',
        schema: {
          params: Type.Object({ workflow_id: Type.String(), execute_id: Type.String() }),
          responses: { 200: okSchema(Type.Array(History, { description: 'The one run' })) },
        },
        handle: async (call) => {
          const { workflow_id, execute_id } = call.params;
          const past = await runs.history(callerOf(call), workflow_id, execute_id);
          return ok([{ execute_id, ...past, logid: call.requestId, ...UNUSED }]);
        },
      }),
    ),
    ...at('/workflows/stream_run', '/v1/workflow/stream_run', (path) =>
      route({
        ...streaming,
        path,
        summary: 'Run a workflow and follow it, or follow a run again',
        schema: {
          answerHeaders,
          headers: LastEventId,
          stream: RunStream,
          body: Type.Object({
            ...RunBody,
            execute_id: Type.Optional(
              Type.String({ description: 'Follows this run, after `Last-Event-ID`, and starts none' }),
            ),
          }),
        },
        handle: async (call) => {
          const { workflow_id, parameters, execute_id } = call.body;
          if (execute_id === undefined) {
            return stream(await start(call, workflow_id, parameters), undefined);
          }
          const place = await runs.find(callerOf(call), workflow_id, execute_id);
          call.audit({ changes: { run_id: place.runId } });
          return stream(place, lastSeen(call.headers) ?? 0);
        },
      }),
    ),
    ...at('/workflows/stream_resume', '/v1/workflow/stream_resume', (path) =>
      route({
        ...streaming,
        path,
        summary: 'Complete the task that a workflow waits for, and follow it',
        description:
          'The stream begins with the completion of the task, also where the same call is repeated, or after `Last-Event-ID`.',
        schema: {
          answerHeaders,
          headers: LastEventId,
          stream: RunStream,
          body: Type.Object({
            workflow_id: WorkflowId,
            event_id: Type.String({
              maxLength: 128,
              pattern: '^[^/]+/[^/]+$',
              patternErrorMessage: 'is no id of an Interrupt',
              description: 'Of the `Interrupt`',
              examples: [EVENT_ID],
            }),
            resume_data: Type.Union([Type.String({ maxLength: 1_000_000 }), Parameters], {
              description:
                '`{outcome?, output?, variables?}`, or its JSON text; any other object is the output, any other text `output.answer`, and of up to 256 characters the outcome',
              examples: ['{"outcome":"approved"}'],
            }),
            interrupt_type: Type.Optional(Type.Integer()),
          }),
        },
        // Whether there is such a task is told before what is wrong with the data for it.
        refuse: refusing(({ resume_data: data }) => resumeProblems(data)),
        handle: async (call) => {
          const { workflow_id, event_id: eventId, resume_data: data } = call.body;
          const resumed = await runs.resume(callerOf(call), workflow_id, { eventId, data });
          const { id: step_run_id, run_id, node_id, outcome } = resumed.step;
          call.audit({ changes: { step_run_id, run_id, node_id, outcome } });
          return stream(resumed.place, lastSeen(call.headers) ?? resumed.after);
        },
      }),
    ),
    ...at('/workflows/chat', '/v1/workflows/chat', (path) =>
      route({
        ...streaming,
        path,
        summary: 'Say something to a workflow; its result is the answer',
        description: 'The run gets `USER_INPUT` beside the parameters.',
        schema: {
          answerHeaders,
          stream: V3Stream,
          body: Type.Object({
            ...RunBody,
            additional_messages: EnterMessages,
            conversation_id: OpenId,
          }),
        },
        refuse: refusing(chatProblems),
        handle: async (call) => {
          requireSound(chatProblems(call.body));
          const { workflow_id: workflowId } = call.body;
          const parameters = call.body.parameters ?? {};
          const conversationId = call.body.conversation_id || undefined;
          const messages = readMessages(call.body.additional_messages);
          const text = textOf(messages.at(-1)!);
          const request = { workflowId, conversationId, messages, text, parameters };
          const begun = await chats.begin(callerOf(call), chatCallOf(call, undefined), request);
          call.audit({ sessionId: begun.conversationId });
          auditStart(call, begun.place, begun.version);
          return reply.sse((sse) => begun.follow(sse.signal, sendTo(sse)), executeHeader(begun.place));
        },
      }),
    ),
    ...underV2([
      route({
        ...common,
        method: 'GET',
        path: '/workflows/{workflow_id}',
        access: access.open(['read', 'workflow:read']),
        errors: 'problem',
        summary: 'Read what a workflow is',
        schema: {
          params: Type.Object({ workflow_id: Type.String() }),
          responses: { 200: Type.Object({ workflow: WorkflowSchema }) },
        },
        handle: async (call) => {
          const info = await runs.describe(callerOf(call), call.params.workflow_id);
          const { id, name, description, status, latest_version, created_at, updated_at } = info;
          return { workflow: { id, name, description, status, latest_version, created_at, updated_at } };
        },
      }),
    ]),
  ];
}

/** The rules that no schema can express: the last message is what is said to the workflow. */
function chatProblems({ additional_messages: said }: UnreadBody): readonly FieldError[] {
  const problems = [...enteredProblems(said, '/body/additional_messages')];
  const last: unknown = Array.isArray(said) ? said.at(-1) : undefined;
  const isOther = isJsonObject(last) && last.role === 'assistant';
  if (isOther || (Array.isArray(said) && said.length === 0)) {
    problems.push({ pointer: '/body/additional_messages', message: 'must end with a message of a user' });
  }
  return problems;
}

/** The number of the last event that a client has read. An empty header says nothing. */
function lastSeen({ 'last-event-id': id }: { readonly 'last-event-id'?: string }): number | undefined {
  return id ? Number(id) : undefined;
}

/** The same route below `/api/v2` and `/api/v1`, and at the SDK's own path. */
const at = (path: string, own: string, make: (path: string) => Route) => [
  ...underV2([make(path)]),
  make(own),
];

function callerOf(call: Call): RunCaller {
  return { tenantId: call.tenant.id, identity: call.identity, userId: userOf(call) };
}

function executeHeader({ runId }: RunPlace): Record<string, string> {
  return { [EXECUTE_HEADER]: runId };
}

/**
 * Records in the audit log which run was started, and of what, also when the run fails or its result is waited for in
 * vain.
 */
function auditStart(
  call: Pick<Call, 'audit'>,
  { runId: run_id }: RunPlace,
  { definitionId: definition_id, version }: StartableVersion,
): void {
  call.audit({ changes: { run_id, definition_id, version } });
}
