import test, { type ExecutionContext } from 'ava';
import type { Sandbox } from '../../../../../plugins/agent-engine/contract.ts';
import { dockerAvailable, isPodman, SANDBOX_IMAGE } from '../../../../support/docker-engine.ts';
import { openTestSandbox, sandboxJob } from '../../../../support/sandbox.ts';
import { sandboxAttempts } from '../../../../support/sandbox-attempts.ts';

let opened: Promise<Sandbox & AsyncDisposable> | undefined;

const SETTINGS = {
  mode: 'docker',
  docker_host: process.env.DOCKER_HOST,
  python_image: SANDBOX_IMAGE,
  javascript_image: SANDBOX_IMAGE,
  shell_image: SANDBOX_IMAGE,
} as const;

async function open(t: ExecutionContext): Promise<Sandbox | undefined> {
  if (!(await dockerAvailable(t))) return undefined;
  opened ??= openTestSandbox(SETTINGS);
  return opened;
}

test.after.always(async () => {
  await (await opened)?.[Symbol.asyncDispose]();
});

sandboxAttempts(open, isPodman);

test('an image that the engine lacks is unavailable, and the error says that none is pulled', async (t) => {
  if (!(await dockerAvailable(t))) return;
  await using sandbox = await openTestSandbox({ ...SETTINGS, python_image: 'svc-sandbox-nowhere:1' });
  await t.throwsAsync(sandbox.run(sandboxJob('python', '1')), {
    code: 'sandbox.unavailable',
    message: /svc-sandbox-nowhere:1.*pull it there/,
  });
});
