import { access, isOperator, type Route, reply, route, Timestamp, Type } from 'agent-gateway';
import { LEVELS, type LogReaders } from '../services/admin/log-readers.ts';
import { requireOperator } from '../services/admin/operator.ts';
import type { System } from '../services/admin/system.ts';

const Status = Type.Object({
  status: Type.Enum(['ok', 'degraded']),
  version: Type.String({ examples: ['2.4.0'] }),
  uptime_seconds: Type.Integer({ examples: [86_400] }),
  agents: Type.Array(
    Type.Object({
      name: Type.String({ examples: ['clerk'] }),
      type: Type.String({
        description: 'Empty for an agent that was never live',
        examples: ['chat_model_agent'],
      }),
      status: Type.Enum(['live', 'failed', 'waiting']),
      error: Type.Optional(Type.String()),
      file: Type.Optional(Type.String({ description: 'Of agents.d; for operators' })),
    }),
  ),
  plugins: Type.Optional(
    Type.Array(
      Type.Object({
        name: Type.String(),
        version: Type.String(),
        enabled: Type.Boolean(),
        state: Type.String(),
        reason: Type.String(),
      }),
      { description: 'For operators' },
    ),
  ),
  ready: Type.Boolean(),
  last_reload_at: Type.Union([Timestamp, Type.Null()]),
});

const Reloaded = Type.Object({
  loaded: Type.Integer({ description: 'Resources of all kinds that are live', examples: [3] }),
  failed: Type.Array(Type.Object({ file: Type.String(), error: Type.String() }), { examples: [[]] }),
});

const LogQuery = Type.Object({
  level: Type.Enum([...LEVELS], {
    default: 'info',
    description: 'The least severity; `LOG_LEVEL` bounds what there is',
  }),
});

const LogStream = Type.String({
  description:
    'Server-sent events `log`, whose data are lines as the log has them, credentials taken out, and `lost` with `{"lines": n}` where the reader was too slow for n of them',
  examples: [
    'event: log\ndata: {"level":"info","time":"2030-01-31T08:30:00.000Z","plugin":"notes","ms":71,"msg":"plugin started"}\n\nevent: lost\ndata: {"lines":3}\n\n',
  ],
});

const common = { access: access.role('admin'), tag: 'administration' } as const;

/** The status of the system, its reload and its log (specification 3, v2 HTTP API; decisions 3.2). */
export function systemRoutes(system: System, readers: LogReaders): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: '/admin/status',
      summary: 'Read how the system is; operators see files and plugins, other tenants their agents',
      schema: { responses: { 200: Status } },
      handle: ({ tenant, identity }) => system.status(tenant.id, isOperator(identity)),
    }),
    route({
      ...common,
      method: 'POST',
      path: '/admin/reload',
      summary: 'Read agents.d anew; for operators',
      schema: { responses: { 200: Reloaded } },
      handle: async (call) => {
        requireOperator(call.identity);
        const { loaded, failed } = await system.reload();
        call.audit({ changes: { loaded, failed: failed.length } });
        return { loaded, failed };
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/admin/logs',
      summary: 'Follow the log of this process; for operators',
      // A reader takes a place until its stream ends, and HEAD begins none.
      head: false,
      countsAsStream: () => true,
      schema: { query: LogQuery, stream: LogStream },
      handle: ({ identity, query: { level }, signal }) => {
        requireOperator(identity);
        const items = readers.follow(level, signal);
        return reply.sse(async (stream) => {
          for await (const item of items) {
            const event =
              'line' in item
                ? { event: 'log', data: item.line }
                : { event: 'lost', data: JSON.stringify({ lines: item.lost }) };
            await stream.send(event);
          }
        });
      },
    }),
  ];
}
