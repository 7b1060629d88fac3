import test from 'ava';
import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import { startTestGateway } from '../../testing/index.ts';
import { freePort } from '../support/free-port.ts';
import { FEW_PLUGINS, startGatewayProcess, temporaryFolder } from '../support/gateway-process.ts';
import { gate, publicRoute, testPlugin } from '../support/plugins.ts';
import { send } from '../support/request.ts';
import { until } from '../support/until.ts';

test('until the plugins are there, a path that nobody has is 503 with Retry-After, and then 404', async (t) => {
  const port = await freePort();
  const { open, opened } = gate();
  const slow = testPlugin('slow', {
    async setup(scope) {
      await opened;
      scope.route(publicRoute('/here', () => 'yes'));
    },
  });
  const starting = startTestGateway({ plugins: [slow], env: { SAAS_API_PORT: String(port) } });
  const ask = (path: string) => send(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
  await until(async () => (await ask('/here')) !== undefined);
  const early = (await ask('/here'))!;
  t.is(early.status, 503);
  t.is(early.body.code, 'gateway.starting');
  t.is(early.headers.get('retry-after'), '1');
  // No route will ever have this path.
  t.is((await ask('/%zz'))!.status, 400);
  open();
  await using gateway = await starting;
  t.is((await gateway.request('/here')).status, 200);
  t.is((await gateway.request('/nowhere')).status, 404);
});

test('what is away until the plugins are there is 503 with Retry-After, unless it says more itself', async (t) => {
  const port = await freePort();
  const { open, opened } = gate();
  const { overloaded, unavailable } = KernelErrors;
  const quick = testPlugin('quick', {
    setup(scope) {
      const failing = (path: string, error: () => Error) =>
        publicRoute(path, () => {
          throw error();
        });
      scope.route(
        failing('/away', () => overloaded()),
        failing('/timed', () => unavailable()),
        failing('/never', () => overloaded(undefined, { retryable: false })),
        failing('/wrong', () => KernelErrors.invalidRequest()),
      );
    },
  });
  const slow = testPlugin('slow', { setup: () => opened });
  const starting = startTestGateway({ plugins: [quick, slow], env: { SAAS_API_PORT: String(port) } });
  const ask = (path: string) => send(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
  await until(async () => (await ask('/wrong'))?.status === 400);
  const after = async (path: string) => (await ask(path))?.headers.get('retry-after');
  const all = () => Promise.all(['/away', '/timed', '/never', '/wrong'].map(after));
  t.deepEqual(await all(), ['1', '5', null, null]);
  open();
  await using _gateway = await starting;
  t.deepEqual(await all(), [null, '5', null, null]);
});

test('a request that came before its route is 503, too, when it is answered after the start', async (t) => {
  const port = await freePort();
  const { open: load, opened: loaded } = gate();
  const { open: answer, opened: answered } = gate();
  let isAsked = false;
  const credentials = testPlugin('credentials', {
    setup(scope) {
      scope.authenticate({
        name: 'slow',
        async authenticate() {
          isAsked = true;
          await answered;
          return undefined;
        },
      });
    },
  });
  const slow = testPlugin('slow', {
    async setup(scope) {
      await loaded;
      scope.route(publicRoute('/here', () => 'yes'));
    },
  });
  const starting = startTestGateway({ plugins: [credentials, slow], env: { SAAS_API_PORT: String(port) } });
  const early: Promise<Awaited<ReturnType<typeof send>> | undefined>[] = [];
  await until(() => {
    if (!isAsked) early.push(send(`http://127.0.0.1:${port}/here`).catch(() => undefined));
    return isAsked;
  });
  load();
  await using _gateway = await starting;
  answer();
  const codes = (await Promise.all(early)).map((one) => one?.body.code);
  t.true(codes.includes('gateway.starting'));
  t.false(codes.includes('path.not-found'));
});

test('the log of a start warns of a file that a variable names and that is not there', async (t) => {
  const gateway = await startGatewayProcess(t, await temporaryFolder(t), {
    ...FEW_PLUGINS,
    SVC_CONFIG: 'gatway.yaml',
  });
  const lines = gateway.logs().filter(({ msg }) => String(msg).startsWith('SVC_'));
  t.deepEqual(
    lines.map(({ level, msg }) => [level, msg]),
    [
      [
        'warn',
        'SVC_CONFIG names gatway.yaml, which is not there: all plugins have their defaults until it is',
      ],
    ],
  );
});
