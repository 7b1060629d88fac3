import { access, type Route, reply, route } from 'agent-gateway';
import type { WorkflowEngine } from '../contract/engine.ts';
import { EventHeaders, EventList, EventQuery, lastSeen, wantsStream } from './event-schemas.ts';
import { RunParams } from './run-schemas.ts';

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
        '`id` is the `seq`, `event` the type, `data` the event. It closes after `run.completed` or `run.cancelled`.',
      countsAsStream: ({ headers }) => wantsStream(headers),
      schema: { params: RunParams, query: EventQuery, headers: EventHeaders, responses: { 200: EventList } },
      handle: async ({ headers, params, query, tenant }) => {
        const place = { tenantId: tenant.id, runId: params.id };
        const after = lastSeen(headers, query);
        const isStream = wantsStream(headers);
        const limit = isStream ? 0 : Math.min(query.limit, MAX_PAGE);
        // A run that is not there is 404 before a stream begins.
        const page = await engine.events({ ...place, after, limit });
        if (!isStream) return { ...page, limit };
        return reply.sse(async (stream) => {
          for await (const event of engine.follow({ ...place, after, signal: stream.signal })) {
            await stream.send({ id: String(event.seq), event: event.type, data: JSON.stringify(event) });
          }
        });
      },
    }),
  ];
}
