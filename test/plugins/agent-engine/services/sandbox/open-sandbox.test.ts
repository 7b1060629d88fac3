import { manualClock } from 'agent-gateway/testing';
import test from 'ava';
import pino from 'pino';
import { createIds } from '../../../../../foundation/base/ids.ts';
import { openSandbox } from '../../../../../plugins/agent-engine/services/sandbox/open-sandbox.ts';
import { sandboxProblems } from '../../../../../plugins/agent-engine/services/sandbox/sandbox-config.ts';
import { sandboxMetrics } from '../../../../../plugins/agent-engine/services/sandbox/sandbox-metrics.ts';
import { openTestSandbox, sandboxJob, TEST_SETTINGS } from '../../../../support/sandbox.ts';
import { fakeMetrics } from '../../fake-metrics.ts';

function open(settings: Partial<typeof TEST_SETTINGS>, production = false) {
  const clock = manualClock();
  return openSandbox({
    settings: { ...TEST_SETTINGS, ...settings },
    production,
    clock,
    ids: createIds(clock),
    log: pino({ enabled: false }),
    metrics: sandboxMetrics(fakeMetrics()),
  });
}

test('without a mode code is refused, and never runs on the host', async (t) => {
  await using sandbox = await openTestSandbox({});
  t.is(sandbox.mode, undefined);
  await t.throwsAsync(sandbox.run(sandboxJob('shell', 'true')), { code: 'sandbox.disabled' });
});

test('a local sandbox that is not allowed stops the start and names the variable', async (t) => {
  await t.throwsAsync(open({ mode: 'local', allow_local: false }), { message: /^SVC_ALLOW_LOCAL_SANDBOX/ });
  await t.throwsAsync(open({ mode: 'local', allow_local: true }, true), { message: /^SANDBOX_MODE/ });
});

test('each mode opens its engine', async (t) => {
  for (const mode of ['local', 'docker'] as const) {
    await using sandbox = await open({ mode, docker_host: 'unix:///nowhere' });
    t.is(sandbox.mode, mode);
  }
});

const CASES: ['local' | 'docker' | 'k8s-job' | undefined, boolean, boolean, string | undefined][] = [
  [undefined, false, false, undefined],
  [undefined, true, true, undefined],
  ['local', true, false, undefined],
  ['local', false, false, 'SVC_ALLOW_LOCAL_SANDBOX'],
  ['local', false, true, 'SANDBOX_MODE'],
  ['local', true, true, 'SANDBOX_MODE'],
  ['docker', false, true, undefined],
  ['k8s-job', false, true, undefined],
];

for (const [mode, allow_local, production, name] of CASES) {
  const where = `${production ? 'in production' : 'in development'}${allow_local ? ', allowed' : ''}`;
  test(`${mode ?? 'no mode'} ${where} ${name === undefined ? 'may start' : `is refused for ${name}`}`, (t) => {
    t.is(sandboxProblems({ mode, allow_local }, production)[0]?.name, name);
  });
}
