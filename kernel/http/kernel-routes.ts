import { withExample } from '../../foundation/base/schema-example.ts';
import { Type } from '../../foundation/base/type.ts';
import type { Readiness } from '../../foundation/observability/readiness.ts';
import { access } from '../api/access.ts';
import { reply } from '../api/reply.ts';
import { type Route, route } from '../api/route.ts';

/** What health and metrics ask. */
export interface KernelRouteParts {
  readiness(): Promise<Readiness>;
  metrics(): Promise<string>;
  readonly metricsType: string;
}

/** Health and metrics, which every listener answers, with or without plugins (specification 1, Public). */
export function kernelRoutes(parts: KernelRouteParts): readonly Route[] {
  const open = { method: 'GET', access: access.public(), rateLimit: 'none', tag: 'health' } as const;
  return [
    route({
      ...open,
      path: '/health/live',
      summary: 'Whether the process runs',
      schema: { responses: { 200: Type.Object({ status: Type.Literal('ok') }) } },
      handle: () => ({ status: 'ok' }),
    }),
    route({
      ...open,
      path: '/health/ready',
      summary: 'Whether the gateway can serve',
      schema: { responses: { 200: PublicReadiness, 503: NotReady } },
      handle: async () => {
        const readiness = await parts.readiness();
        return reply.json(readiness.status === 'ready' ? 200 : 503, toPublic(readiness));
      },
    }),
    route({
      ...open,
      path: '/metrics',
      summary: 'Metrics in the text format of Prometheus',
      tag: 'metrics',
      answerType: parts.metricsType,
      schema: { responses: { 200: MetricsText } },
      handle: async () => reply.text(await parts.metrics()),
    }),
  ];
}

/** Whether the gateway can serve, with the reasons: for operators, who alone may see addresses and plugins' words. */
export function readinessRoute(check: () => Promise<Readiness>): Route {
  return route({
    method: 'GET',
    path: '/admin/v1/readiness',
    access: access.governance(['ops:read'], { operator: true }),
    summary: 'Whether the gateway can serve, with the reason of each failure',
    tag: 'health',
    schema: { responses: { 200: ReadinessReport } },
    handle: async () => {
      const { isServing, ...readiness } = await check();
      return { ...readiness, serving: isServing };
    },
  });
}

const MetricsText = Type.String({
  examples: ['# TYPE svc_http_requests_in_flight gauge\nsvc_http_requests_in_flight 1\n'],
});

const ReadyStatus = Type.Enum(['ready', 'not_ready']);
const CheckState = Type.Enum(['ok', 'error']);
const Check = {
  name: Type.String({ examples: ['database'] }),
  state: CheckState,
  reason: Type.Union([Type.String(), Type.Null()], { description: 'Null where it is ok' }),
};
const Degraded = { name: Type.String({ examples: ['notes'] }), state: Type.Enum(['failed', 'waiting']) };

const PublicReadiness = Type.Object({
  status: ReadyStatus,
  database: Type.Enum(['ok', 'error: unavailable']),
  checks: Type.Optional(Type.Record(Type.String(), CheckState)),
  degraded: Type.Optional(Type.Array(Type.Object(Degraded))),
});

const NotReady = withExample(PublicReadiness, { status: 'not_ready', database: 'error: unavailable' });

const ReadinessReport = Type.Object({
  status: ReadyStatus,
  serving: Type.Boolean({ description: 'False while the gateway starts and stops' }),
  database: Type.Object(Check),
  checks: Type.Array(Type.Object(Check), { description: 'Probes of plugins', examples: [[]] }),
  degraded: Type.Array(Type.Object({ ...Degraded, reason: Type.String() }), { examples: [[]] }),
});

/** Names and states, and no reason: anybody may ask. The form of `database` is the specification's (1, Public). */
function toPublic({ status, database, checks, degraded }: Readiness) {
  return {
    status,
    database: database.state === 'ok' ? 'ok' : 'error: unavailable',
    ...(checks.length === 0 ? {} : { checks: Object.fromEntries(checks.map((c) => [c.name, c.state])) }),
    ...(degraded.length === 0 ? {} : { degraded: degraded.map(({ name, state }) => ({ name, state })) }),
  };
}
