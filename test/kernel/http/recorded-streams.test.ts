import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import Koa from 'koa';
import type { AuditEntry } from '../../../foundation/audit/audit-entry.ts';
import type { AuditTrail } from '../../../foundation/audit/audit-trail.ts';
import { systemClock } from '../../../foundation/base/clock.ts';
import { createIds } from '../../../foundation/base/ids.ts';
import type { SseStream } from '../../../foundation/http/sse-writer.ts';
import { reply } from '../../../kernel/api/reply.ts';
import { audit } from '../../../kernel/chain/audit.ts';
import { RequestState } from '../../../kernel/chain/request-state.ts';
import { respond } from '../../../kernel/http/respond.ts';

const TIMES = { heartbeat: 10_000, slowClient: 10_000 };

/** What happens to the answer of a stream of events and to its record, in order. */
async function happenings(t: ExecutionContext, run: (stream: SseStream) => Promise<void>): Promise<string[]> {
  const seen: string[] = [];
  const trail: Pick<AuditTrail, 'room' | 'record'> = {
    room: () => undefined,
    async record({ statusCode, errorCode }: AuditEntry) {
      seen.push(`recorded: ${statusCode} ${errorCode}`);
      await pause(20);
      seen.push('on the disk');
    },
  };
  const app = new Koa<RequestState>();
  app.use(async (context, next) => {
    context.state = new RequestState({ kind: 'nothing', detail: '' }, '/stream', 0, context);
    context.state.watch(() => 0);
    const { res } = context;
    const end = res.end.bind(res);
    res.end = () => {
      seen.push('the last bytes');
      return end();
    };
    await next().catch(() => {});
  });
  app.use(audit(trail as AuditTrail, createIds(systemClock), systemClock));
  app.use((context) => respond(context, reply.sse(run), TIMES));
  const server = http.createServer(app.callback()).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/stream`)).text();
  return seen;
}

test('the record of a stream of events is on the disk before its last bytes leave', async (t) => {
  const seen = await happenings(t, async (stream) => stream.data('[DONE]'));
  t.deepEqual(seen, ['recorded: 200 undefined', 'on the disk', 'the last bytes']);
});

test('so is that of a stream that fails, with why it did', async (t) => {
  const seen = await happenings(t, async () => Promise.reject(new Error('it broke')));
  t.deepEqual(seen, ['recorded: 200 internal', 'on the disk', 'the last bytes']);
});
