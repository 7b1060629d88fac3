import test, { type ExecutionContext } from 'ava';
import type { RequestStage } from '../../../kernel/api/stage.ts';
import { defineErrors } from '../../../kernel/index.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';
import { NOTES, NOTES_PROTO, notesService } from './kit.ts';

const Refusals = defineErrors({
  refused: { kind: 'forbidden', code: 'acme.refused', title: 'Not from here' },
});
const PROTO = { proto: NOTES_PROTO, includeDirs: [new URL('./protos/', import.meta.url)], service: NOTES };
const REFLECTION = new URL('../../../kernel/grpc/proto/grpc/reflection/v1/reflection.proto', import.meta.url);

/** A plugin with the notes, another one with the stages, and a client that is nobody until a call says who it is. */
async function startStaged(t: ExecutionContext, ...stages: readonly RequestStage[]) {
  const served: string[] = [];
  const notes = testPlugin('notes', {
    setup(scope) {
      const GetNote = { handle: () => served.push('GetNote') && { note: { id: '1', text: 'a' } } };
      scope.grpc(notesService({ GetNote }));
    },
  });
  const acme = testPlugin('acme', {
    setup(scope) {
      for (const stage of stages) scope.stage(stage);
    },
  });
  const gateway = await startTestGateway({ plugins: [notes, acme] });
  t.teardown(gateway.stop);
  const client = gateway.grpc(PROTO);
  const getNote = (metadata: Record<string, string> = {}, token?: string) =>
    client.call('GetNote', { id: '1' }, { metadata, ...(token !== undefined && { token }) });
  return { gateway, client, getNote, served };
}

test('a stage sees a call as it sees a request, and adds to the initial metadata of every answer', async (t) => {
  const { gateway, getNote } = await startStaged(t, {
    name: 'headers',
    before({ method, path, route, host, address, header, requestId, setHeader }) {
      setHeader('x-acme', [method, path, route, host, address, header('X-Colour'), requestId].join(' '));
    },
  });
  const seen = `GRPC /${NOTES}/GetNote ${NOTES}/GetNote 127.0.0.1 127.0.0.1 blue call-1`;
  const metadata = { 'x-colour': 'blue', 'x-request-id': 'call-1' };
  t.like(await getNote(metadata), { code: 'OK', metadata: { 'x-acme': seen } });
  t.like(await getNote(metadata, 'nonsense'), { code: 'UNAUTHENTICATED', metadata: { 'x-acme': seen } });
  const reflection = gateway.grpc({ proto: REFLECTION, service: 'grpc.reflection.v1.ServerReflection' });
  const { code, metadata: own } = await reflection.call('ServerReflectionInfo', [{ list_services: '' }]);
  t.is(code, 'OK');
  t.is(own['x-acme'], undefined);
});

test('a call that a stage refuses reaches neither the credential nor the method', async (t) => {
  const asked: string[] = [];
  const { getNote, served } = await startStaged(t, {
    name: 'block',
    before({ header }) {
      if (header('x-blocked') !== undefined) throw Refusals.refused('This network is blocked');
    },
    admitted(_, { identity, tenant }) {
      asked.push(`${identity.method} ${tenant === undefined ? 'none' : 'tenant'}`);
      throw Refusals.refused('Nobody may');
    },
  });
  const blocked = await getNote({ 'x-blocked': '1' }, 'nonsense');
  t.like(blocked, { code: 'PERMISSION_DENIED', metadata: { 'svc-error-code': 'acme.refused' } });
  t.regex(blocked.details, /This network is blocked/);
  t.is((await getNote({}, 'nonsense')).code, 'UNAUTHENTICATED');
  t.deepEqual(asked, []);
  t.regex((await getNote()).details, /Nobody may/);
  t.deepEqual(asked, ['static_token tenant']);
  t.deepEqual(served, []);
});

test('stages of calls are asked in the order of those of requests', async (t) => {
  const asked: string[] = [];
  const stage = (name: string, order: number): RequestStage => ({
    name,
    order,
    before: () => void asked.push(`${name} before`),
    admitted: () => void asked.push(`${name} admitted`),
  });
  const { getNote } = await startStaged(t, stage('b', 0), stage('a', 0), stage('first', -1));
  await getNote();
  t.deepEqual(asked, ['first before', 'a before', 'b before', 'first admitted', 'a admitted', 'b admitted']);
});

test('a stage that fails or hangs ends a call with UNAVAILABLE, or lets it pass where it says so', async (t) => {
  for (const onFailure of ['refuse', 'pass'] as const) {
    const { getNote } = await startStaged(
      t,
      {
        name: 'failing',
        onFailure,
        before({ header }) {
          if (header('x-fail') !== undefined) throw new Error('broken: password=hunter2secret');
        },
      },
      {
        name: 'hanging',
        onFailure,
        timeoutMs: 30,
        admitted: ({ header }) => (header('x-hang') === undefined ? undefined : new Promise<void>(() => {})),
      },
      {
        name: 'rude',
        onFailure,
        before({ header, setHeader }) {
          const name = header('x-name');
          if (name !== undefined) setHeader(name, '3');
        },
      },
    );
    const expected = onFailure === 'pass' ? 'OK' : 'UNAVAILABLE';
    const reserved = ['Content-Length', 'x-request-id', 'x-ratelimit-limit', 'grpc-status', 'x-bytes-bin'];
    const wrong = [['x-fail', '1'], ['x-hang', '1'], ...reserved.map((name) => ['x-name', name])];
    for (const entry of wrong) {
      const answer = await getNote(Object.fromEntries([entry]));
      t.is(answer.code, expected, entry.join(': '));
      t.false(JSON.stringify(answer).includes('hunter2'));
    }
    t.is((await getNote()).code, 'OK');
  }
});

test('a call whose client is gone tells the stage, and is not served', async (t) => {
  const waiting = Promise.withResolvers<AbortSignal>();
  const { client, served } = await startStaged(t, {
    name: 'slow',
    timeoutMs: 30_000,
    before: ({ signal }) =>
      new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true });
        waiting.resolve(signal);
      }),
  });
  const call = client.open('GetNote');
  call.send({ id: '1' });
  const signal = await waiting.promise;
  call.cancel();
  await until(() => signal.aborted);
  t.is((await call.answer).code, 'CANCELLED');
  t.deepEqual(served, []);
});
