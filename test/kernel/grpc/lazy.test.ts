import test from 'ava';
import { startTestGateway } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';
import { NOTES, NOTES_PROTO, notesService, OTHER_PROTO, pingService } from './kit.ts';

const PROTOS = new URL('./protos/', import.meta.url);
const PING = { proto: OTHER_PROTO, service: 'svc.notes.v1.PingService' };

const serving = (name: string, ...services: readonly ReturnType<typeof pingService>[]) =>
  testPlugin(name, { setup: (scope) => scope.grpc(...services) });

test('lazy services are read with the first connection; one that is wrong is logged, the others serve', async (t) => {
  const broken = {
    ...notesService(),
    proto: new URL('./protos/missing.proto', import.meta.url),
    lazy: true,
  };
  const gateway = await startTestGateway({
    plugins: [serving('good', { ...pingService('a'), lazy: true }), serving('broken', broken)],
  });
  t.teardown(gateway.stop);
  const said = () => gateway.logs().filter((line) => line.includes('cannot be served'));
  t.deepEqual(said(), []);
  const pings = Array.from({ length: 8 }, () => gateway.grpc(PING).call('Ping'));
  for (const { message } of await Promise.all(pings)) t.is(message.from, 'a');
  const notes = gateway.grpc({ proto: NOTES_PROTO, includeDirs: [PROTOS], service: NOTES });
  t.is((await notes.call('GetNote')).code, 'UNIMPLEMENTED');
  t.is(said().length, 1);
  t.regex(said()[0]!, /missing\.proto/);
});

test('a service that is taken is refused before anything is read, and the kernel’s are taken', async (t) => {
  const lazy = (service: string) => ({ ...pingService('a'), service, lazy: true });
  const plugins = [
    serving('one', lazy(PING.service)),
    serving('two', lazy(PING.service)),
    serving('three', lazy('grpc.health.v1.Health')),
  ];
  const gateway = await startTestGateway({ plugins });
  t.teardown(gateway.stop);
  const said = async (name: string) =>
    JSON.stringify((await gateway.request(`/admin/v1/plugins/${name}`)).body);
  t.notRegex(await said('one'), /served by both/);
  t.regex(await said('two'), /PingService is served by both one and two/);
  t.regex(await said('three'), /Health is served by both kernel and three/);
});

test('a stream that outlives the drain time of its gateway ends with a status, and is not cut off', async (t) => {
  const notes = notesService({
    Chat: {
      async handle(call) {
        await call.send({ text: 'first' });
        for await (const _ of call.requests);
      },
    },
  });
  const gateway = await startTestGateway({
    plugins: [serving('notes', notes)],
    env: { SVC_DRAIN_TIMEOUT: '100ms' },
  });
  t.teardown(gateway.stop);
  const chats = Array.from({ length: 4 }, () =>
    gateway.grpc({ proto: NOTES_PROTO, includeDirs: [PROTOS], service: NOTES }).open('Chat'),
  );
  for (const { messages } of chats) await messages.next();
  await gateway.stop();
  for (const { answer } of chats) {
    const { code, metadata } = await answer;
    t.deepEqual([code, metadata['svc-error-code']], ['UNAVAILABLE', 'gateway.draining']);
  }
});
