import test from 'ava';
import { createLogger } from '../../../../../foundation/observability/logger.ts';
import type { OfferedSandboxEngine } from '../../../../../plugins/agent-engine/contract.ts';
import { openProvidedEngine } from '../../../../../plugins/agent-engine/services/sandbox/provided-engine.ts';
import { sandboxJob } from '../../../../support/sandbox.ts';

test('an engine that does not end what was stopped is left behind, and that is said', async (t) => {
  const lines: string[] = [];
  const { logger: log } = createLogger({
    level: 'debug',
    destination: { write: (line) => void lines.push(line) },
  });
  const name = 'plugin/acme/vm';
  const offered: OfferedSandboxEngine = { name, isolatesNetwork: true, run: () => new Promise(() => {}) };
  const engine = openProvidedEngine({
    name,
    engines: () => [offered],
    allowNetwork: false,
    memoryBytes: 1,
    log,
    endMs: 10,
  });
  const nothing = () => {};
  const stop = AbortSignal.abort();
  const run = engine.run({
    job: sandboxJob('shell', 'true'),
    stop,
    started: nothing,
    stdout: nothing,
    stderr: nothing,
  });
  await t.throwsAsync(run, { code: 'sandbox.unavailable', message: /did not end the code in time/ });
  t.regex(lines.join('\n'), /did not end code that was stopped/);
});
