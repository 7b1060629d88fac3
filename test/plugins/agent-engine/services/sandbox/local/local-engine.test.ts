import { spawn } from 'node:child_process';
import { access } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import type { Sandbox } from '../../../../../../plugins/agent-engine/contract.ts';
import {
  bubblewrapArguments,
  findHostPrograms,
  findVisibleFolders,
} from '../../../../../../plugins/agent-engine/services/sandbox/bubblewrap-arguments.ts';
import { runBubblewrap } from '../../../../../../plugins/agent-engine/services/sandbox/local-engine.ts';
import { systemCallFilter } from '../../../../../../plugins/agent-engine/services/sandbox/system-call-filter.ts';
import { openTestSandbox, sandboxJob } from '../../../../../support/sandbox.ts';
import { isRunning, sandboxAttempts } from '../../../../../support/sandbox-attempts.ts';
import { until } from '../../../../../support/until.ts';

const PROGRAM = fileURLToPath(new URL('../../../../../support/sandbox-program.ts', import.meta.url));

let opened: Promise<Sandbox & AsyncDisposable> | undefined;

async function hasBubblewrap(t: ExecutionContext): Promise<boolean> {
  const isThere = await access('/usr/bin/bwrap').then(
    () => true,
    () => false,
  );
  if (isThere) return true;
  t.log('skipped: bubblewrap is not installed');
  t.pass();
  return false;
}

async function open(t: ExecutionContext): Promise<Sandbox | undefined> {
  if (!(await hasBubblewrap(t))) return undefined;
  opened ??= openTestSandbox({ mode: 'local' });
  return opened;
}

test.after.always(async () => {
  await (await opened)?.[Symbol.asyncDispose]();
});

sandboxAttempts(open);

test('families of sockets that no network namespace holds are refused', async (t) => {
  const sandbox = await open(t);
  if (sandbox === undefined) return;
  const code = `
import socket
for family in (1, 2, 10, 16, 17, 38, 40):
    try: socket.socket(family, socket.SOCK_DGRAM); print(family)
    except OSError: pass`;
  const { stdout } = await sandbox.run(sandboxJob('python', code));
  t.deepEqual(
    stdout
      .trim()
      .split('\n')
      .map(Number)
      .filter((family) => family !== 16),
    [1, 2, 10],
  );
});

test('code dies with a gateway that is killed', async (t) => {
  if (!(await hasBubblewrap(t))) return;
  const seconds = 300_000 + process.pid;
  const gateway = spawn(process.execPath, [PROGRAM, `sleep ${seconds}`], { stdio: 'ignore' });
  await until(() => isRunning(`sleep\0${seconds}`), 30_000);
  gateway.kill('SIGKILL');
  await until(async () => !(await isRunning(`sleep\0${seconds}`)));
  t.pass();
});

test('it works for a user who is not root, in a namespace in which he is nobody', async (t) => {
  if (!(await hasBubblewrap(t))) return;
  if (process.getuid?.() !== 0) {
    t.log('skipped: all other tests of this file are that already');
    t.pass();
    return;
  }
  const programs = await findHostPrograms('python', process.execPath);
  const filter = systemCallFilter(process.arch);
  const args = bubblewrapArguments({
    language: 'python',
    programs,
    folders: await findVisibleFolders(),
    hidden: [],
    rootRunsAs: undefined,
    memoryBytes: 256 * 1024 * 1024,
    timeoutMs: 20_000,
    hasFilter: filter !== undefined,
  });
  const code = `
import os
print(os.getuid(), os.path.exists('/etc/shadow'))
for path in ('/x', '/dev/x', '/sandbox/x', '/work/x'):
    try: open(path, 'w'); print('wrote', path)
    except OSError: pass
n = 0
try:
    while n < 200:
        if os.fork() == 0: os.pause() if hasattr(os, 'pause') else __import__('signal').pause()
        n += 1
except OSError: print('held')`;
  const output: Buffer[] = [];
  const end = await runBubblewrap(
    {
      bwrap: programs.setpriv,
      args: ['--reuid=65534', '--regid=65534', '--clear-groups', '--', programs.bwrap, ...args],
      filter,
      memoryBytes: 256 * 1024 * 1024,
      log: pino({ enabled: false }),
    },
    {
      job: sandboxJob('python', code),
      stop: new AbortController().signal,
      started: () => undefined,
      stdout: (bytes) => void output.push(Buffer.from(bytes)),
      stderr: (bytes) => void output.push(Buffer.from(bytes)),
    },
  );
  t.is(Buffer.concat(output).toString(), '65534 False\nwrote /work/x\nheld\n');
  t.deepEqual(end, { exitCode: 0 });
});

test('a sandbox that cannot be built is unavailable, and the log says why', async (t) => {
  if (!(await hasBubblewrap(t))) return;
  const lines: string[] = [];
  const run = runBubblewrap(
    {
      bwrap: '/usr/bin/bwrap',
      args: ['--json-status-fd', '4', '--ro-bind', '/nowhere', '/x', 'true'],
      filter: undefined,
      memoryBytes: 1,
      log: pino({}, { write: (line) => void lines.push(line) }),
    },
    {
      job: sandboxJob('shell', 'true'),
      stop: new AbortController().signal,
      started: () => undefined,
      stdout: () => undefined,
      stderr: () => undefined,
    },
  );
  await t.throwsAsync(run, { code: 'sandbox.unavailable' });
  t.regex(lines.join(''), /nowhere/);
});

test('a missing bubblewrap is unavailable', async (t) => {
  const run = runBubblewrap(
    {
      bwrap: '/nowhere/bwrap',
      args: [],
      filter: undefined,
      memoryBytes: 1,
      log: pino({ enabled: false }),
    },
    {
      job: sandboxJob('shell', 'true'),
      stop: new AbortController().signal,
      started: () => undefined,
      stdout: () => undefined,
      stderr: () => undefined,
    },
  );
  await t.throwsAsync(run, { code: 'sandbox.unavailable' });
});
