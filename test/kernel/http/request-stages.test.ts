import test, { type ExecutionContext } from 'ava';
import { Type } from '../../../foundation/base/type.ts';
import { access } from '../../../kernel/api/access.ts';
import { route } from '../../../kernel/api/route.ts';
import type { RequestStage } from '../../../kernel/api/stage.ts';
import { defineErrors } from '../../../kernel/index.ts';
import { startTestGateway, type TestGateway } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';

const Refusals = defineErrors({
  refused: { kind: 'forbidden', code: 'acme.refused', title: 'Not from here' },
});

/** A plugin with two routes, and another one with the stages. */
async function startStaged(t: ExecutionContext, ...stages: readonly RequestStage[]): Promise<TestGateway> {
  const hello = testPlugin('hello', {
    setup(scope) {
      for (const [path, rule] of [
        ['/hello', access.authenticated()],
        ['/open', access.public()],
      ] as const)
        scope.route(
          route({
            method: 'GET',
            path,
            access: rule,
            summary: 'A greeting',
            schema: { responses: { 200: Type.Object({ hello: Type.String() }) } },
            handle: () => ({ hello: 'world' }),
          }),
        );
    },
  });
  const staged = testPlugin('acme', {
    setup(scope) {
      for (const stage of stages) scope.stage(stage);
    },
  });
  const gateway = await startTestGateway({ plugins: [hello, staged] });
  t.teardown(gateway.stop);
  return gateway;
}

test('a stage sets headers of every answer of plugins, errors too, and of none of the kernel', async (t) => {
  const gateway = await startStaged(t, {
    name: 'headers',
    before: (request) => request.setHeader('X-Acme', `${request.method} ${request.route} ${request.host}`),
  });
  const { status, headers } = await gateway.request('/hello');
  t.is(status, 200);
  t.is(headers.get('x-acme'), 'GET /hello 127.0.0.1');
  const refused = await gateway.request('/hello', { token: 'nonsense' });
  t.is(refused.status, 401);
  t.is(refused.headers.get('x-acme'), 'GET /hello 127.0.0.1');
  for (const path of ['/health', '/admin/v1/plugins', '/nowhere'])
    t.is((await gateway.request(path)).headers.get('x-acme'), null, path);
});

test('what a stage refuses before the credential asks for none', async (t) => {
  const gateway = await startStaged(t, {
    name: 'block',
    before(request) {
      if (request.header('x-blocked') !== undefined) throw Refusals.refused('This network is blocked');
    },
  });
  const blocked = await gateway.request('/hello', { token: 'nonsense', headers: { 'x-blocked': '1' } });
  t.is(blocked.status, 403);
  t.like(blocked.body, { code: 'acme.refused', detail: 'This network is blocked' });
  t.is((await gateway.request('/hello')).status, 200);
});

test('a stage that sees who is admitted refuses more, and is not asked about who is refused already', async (t) => {
  const seen: (string | undefined)[] = [];
  const gateway = await startStaged(t, {
    name: 'tenants',
    admitted(request, { identity, tenant }) {
      seen.push(`${request.path} ${identity.method} ${tenant?.id === undefined ? 'none' : 'tenant'}`);
      if (request.header('x-host') === 'other') throw Refusals.refused();
    },
  });
  t.is((await gateway.request('/hello', { token: 'nonsense' })).status, 401);
  t.is((await gateway.request('/hello')).status, 200);
  t.is((await gateway.request('/hello', { headers: { 'x-host': 'other' } })).status, 403);
  t.deepEqual(seen, ['/hello static_token tenant', '/hello static_token tenant']);
});

test('stages are asked by their order, then by name', async (t) => {
  const asked: string[] = [];
  const stage = (name: string, order?: number): RequestStage => ({
    name,
    ...(order !== undefined && { order }),
    before: () => void asked.push(name),
  });
  const gateway = await startStaged(t, stage('z', -1), stage('b'), stage('a'), stage('first', -2));
  await gateway.request('/open');
  t.deepEqual(asked, ['first', 'z', 'a', 'b']);
});

test('a stage that fails or hangs refuses with 503, or lets pass where it says so', async (t) => {
  const failing = (request: { header(name: string): string | undefined }) => {
    if (request.header('x-fail') !== undefined) throw new Error('broken: password=hunter2secret');
  };
  const hanging = (request: { header(name: string): string | undefined }) =>
    request.header('x-hang') === undefined ? undefined : new Promise<void>(() => {});
  const gateway = await startStaged(
    t,
    { name: 'failing', before: failing },
    { name: 'hanging', timeoutMs: 30, admitted: hanging },
  );
  for (const name of ['x-fail', 'x-hang']) {
    const { status, body } = await gateway.request('/hello', { headers: { [name]: '1' } });
    t.is(status, 503, name);
    t.false(JSON.stringify(body).includes('hunter2'));
  }
  t.is((await gateway.request('/hello')).status, 200);
  const lenient = await startStaged(
    t,
    { name: 'failing', before: failing, onFailure: 'pass' },
    { name: 'hanging', timeoutMs: 30, admitted: hanging, onFailure: 'pass' },
  );
  for (const name of ['x-fail', 'x-hang'])
    t.is((await lenient.request('/hello', { headers: { [name]: '1' } })).status, 200, name);
});

test('a header that says how the body is sent is a mistake of the stage', async (t) => {
  const gateway = await startStaged(t, {
    name: 'rude',
    before: (request) => request.setHeader('Content-Length', '3'),
  });
  t.is((await gateway.request('/open')).status, 503);
});

test('a plugin that is disabled asks no more, also while each of its answers is a refusal', async (t) => {
  const gateway = await startStaged(t, {
    name: 'closed',
    before() {
      throw Refusals.refused();
    },
  });
  t.is((await gateway.request('/open')).status, 403);
  t.is((await gateway.request('/admin/v1/plugins/acme/disable', { method: 'POST' })).status, 200);
  t.is((await gateway.request('/open')).status, 200);
});

const WRONG: readonly (readonly [object, string])[] = [
  [{ name: '' }, '"name" is "", and should be a text that is not empty'],
  [{ name: 'a', timeoutMs: 0 }, '"timeoutMs" is 0, and should be 1 to 30000 (milliseconds)'],
  [{ name: 'a', order: Number.NaN }, '"order" is NaN, and should be a number'],
  [{ name: 'a', onFailure: 'ignore' }, '"onFailure" is "ignore", and should be one of refuse, pass'],
  [{ name: 'a', before: {} }, '"before" is an object, and should be a function'],
  [{ name: 'a', admitted: null }, '"admitted" is null, and should be a function'],
];

test('a stage that is none fails its plugin', async (t) => {
  for (const [stage, problem] of WRONG) {
    const gateway = await startStaged(t, stage as RequestStage);
    const { body } = await gateway.request('/admin/v1/plugins/acme');
    t.is(body.state, 'failed');
    t.is(body.reason, `a stage of acme: ${problem}`);
  }
});
