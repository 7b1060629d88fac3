import { manualClock } from 'agent-gateway/testing';
import test from 'ava';
import pino from 'pino';
import { createIds } from '../../../../../foundation/base/ids.ts';
import { openSandbox } from '../../../../../plugins/agent-engine/services/sandbox/open-sandbox.ts';
import { openTestSandbox, sandboxJob, TEST_SETTINGS } from '../../../../support/sandbox.ts';

function open(settings: Partial<typeof TEST_SETTINGS>, production = false) {
  const clock = manualClock();
  return openSandbox({
    settings: { ...TEST_SETTINGS, ...settings },
    production,
    clock,
    ids: createIds(clock),
    log: pino({ enabled: false }),
    observer: { ended: () => undefined, load: () => undefined },
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
