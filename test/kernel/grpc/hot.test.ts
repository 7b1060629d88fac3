import test from 'ava';
import { KernelErrors } from '../../../foundation/base/error-catalogue.ts';
import { InFlight } from '../../../foundation/base/in-flight.ts';
import { gate } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';
import { NOTES, notesService, OTHER_PROTO, pingService, startGrpc } from './kit.ts';

const PING = { proto: OTHER_PROTO, service: 'svc.notes.v1.PingService' };

test('a service comes and goes while the server runs', async (t) => {
  await using grpc = await startGrpc();
  const ping = grpc.client(PING);
  const notes = grpc.client();
  t.is((await ping.call('Ping')).code, 'UNIMPLEMENTED');
  grpc.server.prepare([grpc.compile(notesService()), grpc.compile(pingService('a'))])();
  t.is((await ping.call('Ping')).message.from, 'a');
  grpc.server.prepare([grpc.compile(pingService('b'))])();
  t.is((await ping.call('Ping')).message.from, 'b');
  t.is((await notes.call('GetNote')).code, 'UNIMPLEMENTED');
});

test('what was prepared and not published changes nothing, and neither does what collides', async (t) => {
  await using grpc = await startGrpc({ services: [pingService('a')] });
  grpc.server.prepare([]);
  t.throws(
    () => grpc.server.prepare([grpc.compile(pingService('b'), 'x'), grpc.compile(pingService('c'), 'y')]),
    {
      name: 'ServiceCollision',
      message: /served by both x and y/,
    },
  );
  t.is((await grpc.client(PING).call('Ping')).message.from, 'a');
});

test('the services of the kernel cannot be taken', async (t) => {
  await using grpc = await startGrpc();
  const named = { ...grpc.compile(pingService('a'), 'thief'), name: 'grpc.health.v1.Health' };
  t.throws(() => grpc.server.prepare([named]), {
    message: 'the gRPC service grpc.health.v1.Health is served by both kernel and thief',
  });
});

test('calls in flight go on with the handlers that they started with', async (t) => {
  const { open, opened } = gate();
  const old = notesService({
    GetNote: { handle: () => opened.then(() => ({ note: { text: 'old' } })) },
    async *Tail() {},
  } as never);
  await using grpc = await startGrpc({ services: [old] });
  const client = grpc.client();
  const unary = client.call('GetNote', { id: '1' });
  const chat = client.open('Chat');
  chat.send({ text: 'a' });
  await chat.messages.next();
  await until(() => grpc.inFlight.size === 2, 10_000);
  const next = new InFlight();
  const changed = notesService({ Chat: { handle: () => undefined } });
  grpc.server.prepare([grpc.compile(changed, 'notes', next)])();
  t.is((await client.call('GetNote', { id: '1' })).message.note.text, 'note 1');
  chat.send({ text: 'b' });
  t.is((await chat.messages.next()).value.text, 'echo b');
  chat.end();
  t.is((await chat.answer).code, 'OK');
  open();
  t.is((await unary).message.note.text, 'old');
  t.true(await grpc.inFlight.idle(10_000));
});

test('services are exchanged under load without a failed call', async (t) => {
  const inFlights = [new InFlight()];
  const service = (from: string) => ({
    ...pingService(from),
    methods: {
      Ping: {
        ...pingService(from).methods.Ping!,
        handle: async () => {
          await new Promise((resolve) => setImmediate(resolve));
          return { from };
        },
      },
    },
  });
  await using grpc = await startGrpc({ services: [] });
  await grpc.authentication.tenants.update('00000000-0000-0000-0000-000000000001', {
    rateLimitRpm: 10_000_000,
  });
  grpc.server.prepare([grpc.compile(service('0'), 'notes', inFlights[0])])();
  const seen = new Set<string>();
  let calls = 0;
  let isOver = false;
  const clients = [grpc.client(PING), grpc.client(PING)];
  const load = clients.flatMap((client) =>
    Array.from({ length: 4 }, async () => {
      while (!isOver) {
        const { code, message, details } = await client.call('Ping');
        if (code !== 'OK') throw new Error(`${code} ${details}`);
        seen.add(message.from);
        calls += 1;
      }
    }),
  );
  for (let generation = 1; generation <= 20; generation += 1) {
    const target = calls + 20;
    await until(() => calls >= target, 30_000);
    const inFlight = new InFlight();
    grpc.server.prepare([grpc.compile(service(String(generation)), 'notes', inFlight)])();
    // The generation before is drained: nothing of it is left behind.
    t.true(await inFlights.at(-1)!.idle(20_000));
    inFlights.push(inFlight);
  }
  const last = calls + 20;
  await until(() => calls >= last, 30_000);
  isOver = true;
  await t.notThrowsAsync(Promise.all(load));
  t.true(seen.size > 15);
  t.true(await inFlights.at(-1)!.idle(20_000));
});

test('a stopping plugin ends its calls with UNAVAILABLE, and their handlers know why', async (t) => {
  const reasons: unknown[] = [];
  const wait = (signal: AbortSignal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  await using grpc = await startGrpc({
    services: [
      notesService({
        GetNote: { handle: (call) => wait(call.signal).catch((reason) => reasons.push(reason)) },
        Chat: {
          handle: async (call) => {
            await call.send({ text: 'first' });
            for await (const _ of call.requests);
          },
        },
      }),
    ],
  });
  const client = grpc.client();
  const unary = client.call('GetNote');
  const chat = client.open('Chat');
  await chat.messages.next();
  await until(() => grpc.inFlight.size === 2, 10_000);
  grpc.inFlight.abortAll(KernelErrors.draining());
  for (const answer of [await unary, await chat.answer]) {
    t.is(answer.code, 'UNAVAILABLE');
    t.is(answer.metadata['svc-error-code'], 'gateway.draining');
  }
  t.true(await grpc.inFlight.idle(10_000));
  t.is((reasons[0] as { code: string }).code, 'gateway.draining');
  const entries = await grpc.audited();
  t.deepEqual(
    entries.map(({ statusCode }) => statusCode),
    [503, 503],
  );
});

test('a call that ignores its end is in flight until its handler has settled', async (t) => {
  const { open, opened } = gate();
  await using grpc = await startGrpc({ services: [notesService({ GetNote: { handle: () => opened } })] });
  const unary = grpc.client().call('GetNote');
  await until(() => grpc.inFlight.size === 1, 10_000);
  grpc.inFlight.abortAll(KernelErrors.draining());
  t.is((await unary).code, 'UNAVAILABLE');
  t.is(grpc.inFlight.size, 1);
  open();
  t.true(await grpc.inFlight.idle(10_000));
});

test('a call whose client leaves while it is admitted leaves nothing behind', async (t) => {
  await using grpc = await startGrpc();
  const client = grpc.client();
  await client.call('GetNote');
  const calls = Array.from({ length: 50 }, (_, index) => {
    const call = client.open(index % 2 === 0 ? 'GetNote' : 'Chat');
    call.send({ id: 'x' });
    setImmediate(() => call.cancel());
    return call.answer;
  });
  for (const { code } of await Promise.all(calls)) t.true(code === 'CANCELLED' || code === 'OK', code);
  t.true(await grpc.inFlight.idle(20_000));
  await until(async () => /svc_grpc_requests_in_flight 0/.test(await grpc.metrics.text()), 10_000);
  t.is((await client.call('GetNote')).code, 'OK');
  t.truthy(NOTES);
});
