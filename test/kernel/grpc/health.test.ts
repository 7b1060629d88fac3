import test from 'ava';
import { KernelErrors } from '../../../foundation/base/error-catalogue.ts';
import { until } from '../../support/until.ts';
import { type GrpcTest, notesService, pingService, startGrpc } from './kit.ts';

const HEALTH = {
  proto: new URL('../../../kernel/grpc/proto/grpc/health/v1/health.proto', import.meta.url),
  service: 'grpc.health.v1.Health',
  token: null,
};
const PING = 'svc.notes.v1.PingService';

const check = async (grpc: GrpcTest, service = '') => {
  const { code, message } = await grpc.client(HEALTH).call('Check', { service });
  return code === 'OK' ? message.status : code;
};

test('the server and each live service are healthy, and anybody may ask', async (t) => {
  let isServing = false;
  await using grpc = await startGrpc({ isServing: () => isServing, anonymousAllowed: false });
  t.is(await check(grpc), 'NOT_SERVING');
  isServing = true;
  t.is(await check(grpc), 'SERVING');
  t.is(await check(grpc, 'svc.notes.v1.NotesService'), 'SERVING');
  t.is(await check(grpc, 'grpc.health.v1.Health'), 'SERVING');
  t.is(await check(grpc, PING), 'NOT_FOUND');
  grpc.server.prepare([grpc.compile(pingService('a'))])();
  t.is(await check(grpc, PING), 'SERVING');
  t.is(await check(grpc, 'svc.notes.v1.NotesService'), 'NOT_FOUND');
});

test('health is not limited, not recorded, looks at no credential, and is logged quietly', async (t) => {
  await using grpc = await startGrpc({ rates: { anonymous: 1 } });
  grpc.parts.authentication.authenticate = () => {
    throw new Error('the database is away');
  };
  const client = grpc.client({ ...HEALTH, token: 'whatever' });
  for (let count = 0; count < 5; count += 1) t.is((await client.call('Check')).code, 'OK');
  t.is((await grpc.audited()).length, 0);
  const lines = () => grpc.logs().filter((line) => line.includes('/grpc.health.v1.Health/Check'));
  await until(() => lines().length === 5, 10_000);
  t.true(
    lines().every((line) => /"level":("debug"|20)/.test(line)),
    lines()[0],
  );
});

test('all services are listed', async (t) => {
  await using grpc = await startGrpc({ services: [notesService(), pingService('a')] });
  const { message } = await grpc.client(HEALTH).call('List');
  t.deepEqual(Object.keys(message.statuses).sort(), [
    '',
    'grpc.health.v1.Health',
    'grpc.reflection.v1.ServerReflection',
    'grpc.reflection.v1alpha.ServerReflection',
    'svc.notes.v1.NotesService',
    PING,
  ]);
  t.deepEqual(message.statuses[PING], { status: 'SERVING' });
});

test('a watch tells the status now and every change of it', async (t) => {
  let isServing = true;
  await using grpc = await startGrpc({ isServing: () => isServing });
  const watch = grpc.client(HEALTH).open('Watch');
  watch.send({ service: PING });
  watch.end();
  const next = async () => (await watch.messages.next()).value.status;
  t.is(await next(), 'SERVICE_UNKNOWN');
  grpc.server.prepare([grpc.compile(pingService('a'))])();
  t.is(await next(), 'SERVING');
  // A change of other services is no change of this one.
  grpc.server.prepare([grpc.compile(pingService('b')), grpc.compile(notesService())])();
  isServing = false;
  t.is(await next(), 'NOT_SERVING');
  isServing = true;
  t.is(await next(), 'SERVING');
  grpc.server.prepare([])();
  t.is(await next(), 'SERVICE_UNKNOWN');
});

test('watches end when the server closes, after they were told', async (t) => {
  await using grpc = await startGrpc();
  const watch = grpc.client(HEALTH).open('Watch');
  watch.send({});
  watch.end();
  t.is((await watch.messages.next()).value.status, 'SERVING');
  const closed = grpc.server.close();
  t.is((await watch.messages.next()).value.status, 'NOT_SERVING');
  const { code, metadata } = await watch.answer;
  t.deepEqual([code, metadata['svc-error-code']], ['UNAVAILABLE', KernelErrors.draining.definition.code]);
  await closed;
});

test('a watch that is given up makes room, and watches are bounded', async (t) => {
  await using grpc = await startGrpc({ server: { maxStreams: 2000 } });
  const client = grpc.client(HEALTH);
  const open = () => {
    const watch = client.open('Watch');
    watch.send({});
    watch.end();
    return watch;
  };
  const watches = Array.from({ length: 1000 }, open);
  for (const watch of watches) t.is((await watch.messages.next()).value.status, 'SERVING');
  const refused = await client.call('Watch', {});
  t.deepEqual([refused.code, refused.metadata['svc-error-code']], ['RESOURCE_EXHAUSTED', 'limit.streams']);
  for (const watch of watches.splice(0, 10)) watch.cancel();
  await until(async () => {
    const watch = open();
    const { done } = await watch.messages.next();
    watch.cancel();
    return done !== true;
  }, 20_000);
  t.pass();
});
