import { access, type Deployment, type Route, reply, route, Type, withExample } from 'agent-gateway';
import type { System } from '../services/admin/system.ts';

const Ready = Type.Object({
  status: Type.Enum(['ready', 'not_ready']),
  database: Type.Enum(['ok', 'error: unavailable']),
  agents: Type.Object({
    live: Type.Integer({ examples: [2] }),
    failed: Type.Integer({
      description: 'Files of agents.d declare them, and they do not run as declared',
      examples: [0],
    }),
  }),
});

const NotReady = withExample(Ready, { status: 'not_ready', database: 'error: unavailable' });

/** These routes are public, so names and reasons are left to `/admin/status`, for administrators. */
const open = { method: 'GET', access: access.public(), rateLimit: 'none', tag: 'health' } as const;

/** The routes for monitors, at the root and under `/api/v2` (specification 3, v2 HTTP API; decisions 3.2). */
export function healthRoutes(
  system: Pick<System, 'agentCounts'>,
  deployment: Pick<Deployment, 'readiness'>,
): readonly Route[] {
  return [
    route({
      ...open,
      path: '/health',
      summary: 'Whether the process runs',
      schema: { responses: { 200: Type.Object({ status: Type.Literal('ok') }) } },
      handle: () => ({ status: 'ok' }),
    }),
    route({
      ...open,
      path: '/ready',
      summary: 'Whether the gateway can serve, and how many agents run',
      schema: { responses: { 200: Ready, 503: NotReady } },
      handle: async () => {
        const { status, database } = await deployment.readiness();
        return reply.json(status === 'ready' ? 200 : 503, {
          status,
          database: database.state === 'ok' ? 'ok' : 'error: unavailable',
          agents: system.agentCounts(),
        });
      },
    }),
  ];
}

/** The metrics of the process, which the kernel serves at the root. */
export function metricsRoute({ metrics }: Pick<Deployment, 'metrics'>): Route {
  return route({
    ...open,
    path: '/metrics',
    summary: 'Metrics in the text format of Prometheus',
    tag: 'metrics',
    answerType: metrics.contentType,
    schema: {
      responses: {
        200: Type.String({
          examples: ['# TYPE svc_http_requests_in_flight gauge\nsvc_http_requests_in_flight 1\n'],
        }),
      },
    },
    handle: async () => reply.text(await metrics.text()),
  });
}
