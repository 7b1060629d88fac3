import { access, type Route, reply, route, Type } from 'agent-gateway';
import type { WorkflowEngine } from '../contract/engine.ts';
import { isTerminal } from '../services/views/records.ts';
import { RunEventSchema, RunParams } from './run-schemas.ts';

const MAX_PAGE = 500;

/** The events of a run: a page of them, or a stream that goes on with the run (decisions 2.7). */
export function eventRoutes(engine: WorkflowEngine): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/workflow-runs/{id}/events',
      access: access.role('user', { scopes: ['workflow:read', 'read'] }),
      tag: 'workflow-runs',
      summary: 'Read the events of a run, oldest first, or follow them',
      description:
        'With `Accept: text/event-stream` the answer is a stream of all events after `Last-Event-ID` (or `after`), those to come too: ' +
        '`id` is the `seq`, `event` the type, `data` the event. It closes after `run.completed` or `run.cancelled`. 204 where that was read: browsers ask again until then.',
      countsAsStream: ({ headers }) => wantsStream(headers),
      schema: {
        params: RunParams,
        query: EventQuery,
        headers: EventHeaders,
        responses: { 200: EventList, 204: null },
        stream: EventStream,
      },
      handle: async ({ headers, params, query, tenant }) => {
        const place = { tenantId: tenant.id, runId: params.id };
        const after = lastSeen(headers, query);
        if (!wantsStream(headers)) {
          const limit = Math.min(query.limit, MAX_PAGE);
          return { ...(await engine.events({ ...place, after, limit })), limit };
        }
        // A run that is not there is 404 before a stream begins.
        const [seen] = (await engine.events({ ...place, after: Math.max(after - 1, 0), limit: 1 })).events;
        if (seen?.seq === after && isTerminal(seen)) return reply.empty();
        return reply.sse(async (stream) => {
          for await (const event of engine.follow({ ...place, after, signal: stream.signal })) {
            await stream.send({ id: String(event.seq), event: event.type, data: JSON.stringify(event) });
          }
        });
      },
    }),
  ];
}

/** Which events of a run are asked for. */
const EventQuery = Type.Object({
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Only events with a higher `seq`',
    }),
  ),
  limit: Type.Integer({ minimum: 0, default: 100, description: 'Of a JSON answer; 500 at most' }),
});

/** How the events are asked for. */
const EventHeaders = Type.Object({
  accept: Type.Optional(Type.String()),
  'last-event-id': Type.Optional(
    Type.String({
      pattern: '^[0-9]{0,15}$',
      patternErrorMessage: 'must be the `seq` of an event: 15 digits at most',
      description: '`seq` of the last event that a stream has brought; counts before `after`',
    }),
  ),
});

/** The events of an answer, oldest first. */
const EventList = Type.Object({
  events: Type.Array(RunEventSchema),
  total: Type.Integer({ description: 'Events of the run so far', examples: [1] }),
  limit: Type.Integer({ examples: [100] }),
});

const EventStream = Type.String({
  description: 'Server-sent events: `id` is the `seq`, `event` the type, `data` the event',
  examples: [
    'event: run.started\nid: 1\ndata: {"seq":1,"type":"run.started","data":{"by":"01a209b6-2688-7509-9c34-9e59379066ee"},"created_at":"2030-01-31T08:30:00.000Z"}\n\n' +
      'event: run.completed\nid: 8\ndata: {"seq":8,"type":"run.completed","data":{},"created_at":"2030-01-31T08:31:00.000Z"}\n\n',
  ],
});

/** True when a client asks for an event stream, and not for JSON before it. */
function wantsStream({ accept = '' }: { readonly accept?: string | undefined }): boolean {
  const types = accept.toLowerCase();
  const stream = types.indexOf('text/event-stream');
  const json = types.indexOf('application/json');
  return stream >= 0 && (json < 0 || stream < json);
}

/** Number of the last event that a client has. */
function lastSeen(
  headers: { readonly 'last-event-id'?: string | undefined },
  query: { readonly after?: number | undefined },
): number {
  const id = headers['last-event-id'] ?? '';
  return id === '' ? (query.after ?? 0) : Number(id);
}
