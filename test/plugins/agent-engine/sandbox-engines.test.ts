import { access, definePlugin, route, Type } from 'agent-gateway';
import test, { type ExecutionContext } from 'ava';
import { systemClock } from '../../../foundation/base/clock.ts';
import {
  type OfferedSandboxEngine,
  type SandboxEnd,
  SandboxEnginesPoint,
  SandboxErrors,
  type SandboxRun,
  ToolsRef,
} from '../../../plugins/agent-engine/contract.ts';
import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import platform from '../../../plugins/platform/plugin.ts';
import records from '../../../plugins/records/plugin.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { gatewayDatabase } from '../../support/databases.ts';
import { startFakeDocker } from '../../support/fake-docker.ts';
import { testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';

/** Asks for a tool as a person would. */
const asking = definePlugin({
  name: 'asking',
  summary: 'Asks for tools',
  kernel: '^1.0.0',
  needs: { tools: ToolsRef },
  setup: (scope, { tools }) =>
    scope.route(
      route({
        method: 'POST',
        path: '/v1/ask',
        access: access.role('user'),
        summary: 'Run a tool',
        schema: { body: Type.Record(Type.String(), Type.Unknown()) },
        handle: async ({ body, tenant, signal, identity, log, requestId }) => {
          const { id } = identity;
          const principal = { tenantId: tenant.id, identityId: id, userId: id };
          return tools.invoke({
            tool: 'execute_code',
            parameters: body,
            context: { principal, requestId, signal, log },
          });
        },
      }),
    ),
});

async function start(
  t: ExecutionContext,
  run: (run: SandboxRun) => Promise<SandboxEnd>,
  env: Readonly<Record<string, string>> = {},
  engine: Partial<OfferedSandboxEngine> = {},
) {
  const runs: SandboxRun[] = [];
  const offered: OfferedSandboxEngine = {
    name: 'plugin/acme/vm',
    isolatesNetwork: true,
    run: (one) => {
      runs.push(one);
      return run(one);
    },
    ...engine,
  };
  const acme = testPlugin('acme', { setup: (scope) => scope.contribute(SandboxEnginesPoint, offered) });
  const gateway = await startTestGateway({
    plugins: [records, agentEngine, platform, acme, asking],
    env: { OBJECT_STORE_URL: 'none', SANDBOX_MODE: 'plugin/acme/vm', SANDBOX_MEMORY: '256MiB', ...env },
  });
  t.teardown(gateway.stop);
  const tenant = await gateway.makeTenant();
  const execute = async (parameters: object = {}) => {
    const { status, body } = await gateway.request('/v1/ask', {
      method: 'POST',
      token: tenant.token,
      body: { language: 'python', code: 'print(1)', ...parameters },
    });
    t.is(status, 200, JSON.stringify(body));
    return body;
  };
  const policy = (changes: object) =>
    gateway.request(`/admin/v1/tenants/${tenant.id}/sandbox-policy`, { method: 'POST', body: changes });
  const turn = (verb: string) => gateway.request(`/admin/v1/plugins/acme/${verb}`, { method: 'POST' });
  return { gateway, tenant, runs, execute, policy, turn };
}

/** Runs to its end at once. */
async function echo({ code, stdin, started, stdout, stderr }: SandboxRun): Promise<SandboxEnd> {
  started();
  stdout(`${code} ${stdin}`);
  stderr(Buffer.from('careful'));
  return { exitCode: 0 };
}

test('code runs in the engine of a plugin, which gets what deployment and policy allow', async (t) => {
  const { runs, execute, policy, tenant } = await start(t, echo, { SANDBOX_ALLOW_NETWORK: 'true' });
  const done = await execute({ stdin: 'in' });
  t.like(JSON.parse(done.content), {
    status: 'success',
    exit_code: 0,
    stdout: 'print(1) in',
    stderr: 'careful',
  });
  t.like(runs[0], {
    tenantId: tenant.id,
    language: 'python',
    code: 'print(1)',
    stdin: 'in',
    timeoutMs: 30_000,
    memoryBytes: 256 * 1024 * 1024,
    maxOutputBytes: 256 * 1024,
    network: 'none',
  });
  const changed = await policy({ max_timeout_seconds: 5, max_output_kb: 1, restrict_network: false });
  t.is(changed.status, 200, JSON.stringify(changed.body));
  await execute();
  t.like(runs[1], { timeoutMs: 5_000, maxOutputBytes: 1024, network: 'open' });
});

test('a policy cannot open a network that the deployment keeps closed', async (t) => {
  const { runs, execute, policy } = await start(t, echo);
  await policy({ restrict_network: false });
  await execute();
  t.is(runs[0]?.network, 'none');
});

test('an engine that cannot take the network away is not asked to', async (t) => {
  const { runs, execute, policy } = await start(
    t,
    echo,
    { SANDBOX_ALLOW_NETWORK: 'true' },
    { isolatesNetwork: false },
  );
  t.regex((await execute()).content, /plugin\/acme\/vm cannot keep code from the network/);
  t.is(runs.length, 0);
  await policy({ restrict_network: false });
  t.regex((await execute()).content, /success/);
});

test('the gateway ends what runs over its time, and keeps what was written', async (t) => {
  const { execute, runs } = await start(t, async ({ started, stdout, stop }) => {
    started();
    stdout('begun');
    await new Promise((resolve) => stop.addEventListener('abort', resolve));
    return { exitCode: 137 };
  });
  const done = JSON.parse((await execute({ timeout_seconds: 0.05 })).content);
  t.like(done, { status: 'timeout', exit_code: null, stdout: 'begun' });
  t.true(runs[0]?.stop.aborted);
});

test('output is cut on the side of the gateway, and what comes after the end is not seen', async (t) => {
  let late = () => {};
  const { execute, policy } = await start(t, async ({ started, stdout }) => {
    started();
    stdout('x'.repeat(2000));
    late = () => stdout('late');
    return { exitCode: 0 };
  });
  await policy({ max_output_kb: 1 });
  const done = JSON.parse((await execute()).content);
  late();
  t.like(done, { truncated: true, stdout: 'x'.repeat(1024) });
});

test('what an engine does wrong is said without its words', async (t) => {
  const wrongs: ((run: SandboxRun) => Promise<SandboxEnd>)[] = [
    async () => {
      throw new Error('password=hunter2secret');
    },
    async () => undefined as never,
    async () => ({ exitCode: 'none' as never }),
    async ({ started }) => {
      started();
      throw SandboxErrors.unavailable('the image is missing');
    },
  ];
  const { execute, gateway } = await start(t, (run) => wrongs.shift()!(run));
  for (const words of [/plugin\/acme\/vm failed/, /failed/, /failed/, /the image is missing/]) {
    const { content, status } = await execute();
    t.not(status, 'success');
    t.regex(content, words);
    t.notRegex(content, /hunter2/);
  }
  t.notRegex(gateway.logs().join('\n'), /hunter2/);
});

test('code that does not start in time is given up', async (t) => {
  const { execute } = await start(
    t,
    ({ stop }) => new Promise((_, reject) => stop.addEventListener('abort', reject)),
    {
      SANDBOX_START_TIMEOUT: '1s',
    },
  );
  t.regex((await execute()).content, /did not start the code in time/);
});

test('while the plugin is away code is refused and the log says why, and with the plugin it runs again', async (t) => {
  const { execute, turn } = await start(t, echo);
  t.regex((await execute()).content, /success/);
  await turn('disable');
  t.regex((await execute()).content, /SANDBOX_MODE names plugin\/acme\/vm, which no plugin that runs offers/);
  await turn('enable');
  t.regex((await execute()).content, /success/);
});

test('an engine that nobody offers is a warning at the start', async (t) => {
  const { gateway } = await start(t, echo, { SANDBOX_MODE: 'plugin/acme/wm' });
  const warned = /SANDBOX_MODE names plugin\/acme\/wm, .*did you mean plugin\/acme\/vm\?/;
  await until(() => warned.test(gateway.logs().join('\n')));
  t.pass();
});

test('a replica whose clock is ahead removes no container in which another one runs code', async (t) => {
  const fresh = await gatewayDatabase(t, 'postgres');
  if (fresh === undefined) return;
  await using docker = await startFakeDocker({ onStart: () => undefined });
  const label = (deadline: number) => ({ 'svc.sandbox': 'true', 'svc.sandbox.deadline': `${deadline}` });
  docker.leave('old', label(Date.now() - 60_000));
  docker.leave('in-use', label(Date.now() + 300_000));
  const gateway = await startTestGateway({
    env: { ...fresh.environment, SANDBOX_MODE: 'docker', DOCKER_HOST: docker.host },
    clock: { ...systemClock, now: () => Date.now() + 600_000 },
    plugins: [records, agentEngine],
  });
  t.teardown(gateway.stop);
  await until(() => !docker.containers.has('old'));
  await gateway.stop();
  t.true(docker.containers.has('in-use'));
});
