import test from 'ava';
import {
  DEFAULT_SANDBOX_POLICY,
  type Sandbox,
  type SandboxJob,
  type SandboxPolicy,
  type SandboxResult,
} from '../../../../../plugins/agent-engine/contract.ts';
import { executeCode } from '../../../../../plugins/agent-engine/services/tools/execute-code.ts';
import { toolContext } from '../tool-context.ts';

const RESULT: SandboxResult = {
  status: 'success',
  exitCode: 0,
  stdout: 'out',
  stderr: '',
  isTruncated: false,
  durationMs: 12,
};

function setUp(
  mode: Sandbox['mode'],
  policy: Partial<SandboxPolicy> = {},
  result: Partial<SandboxResult> = {},
) {
  const jobs: SandboxJob[] = [];
  const policies = { current: { ...DEFAULT_SANDBOX_POLICY, ...policy }, of: () => policies.current };
  const sandbox: Sandbox = {
    mode,
    async run(job) {
      jobs.push(job);
      return { ...RESULT, ...result };
    },
  };
  const source = executeCode({ sandbox, policies, overheadMs: 5000 });
  return { jobs, policies, list: () => source.list('acme', new AbortController().signal) };
}

test('it is offered where there is a sandbox and the policy allows code in it', async (t) => {
  const cases: [Sandbox['mode'], Partial<SandboxPolicy>, boolean][] = [
    [undefined, {}, false],
    ['local', {}, true],
    ['docker', {}, true],
    ['k8s-job', {}, true],
    ['docker', { enabled: false }, false],
    ['docker', { allowDocker: false }, false],
    ['k8s-job', { allowDocker: false }, true],
    ['local', { allowedTools: ['calculator'] }, false],
    ['local', { allowedTools: ['execute_code'] }, true],
  ];
  for (const [mode, policy, isOffered] of cases) {
    const tools = await setUp(mode, policy).list();
    t.is(tools.length, isOffered ? 1 : 0, JSON.stringify([mode, policy]));
  }
});

test('the policy clamps time and output, and takes the network away', async (t) => {
  const { jobs, list } = setUp('docker', { maxTimeoutSeconds: 10, maxOutputKb: 3, restrictNetwork: true });
  const [tool] = await list();
  t.is(tool!.timeoutMs, 15_000);
  await tool!.invoke({ language: 'python', code: 'print(1)', timeout_seconds: 500 }, toolContext());
  await tool!.invoke({ language: 'shell', code: 'cat', stdin: 'hi', timeout_seconds: 0.5 }, toolContext());
  await tool!.invoke({ language: 'shell', code: 'cat' }, toolContext());
  t.like(jobs[0], { tenantId: 'acme', timeoutMs: 10_000, maxOutputBytes: 3072, allowNetwork: false });
  t.false('stdin' in jobs[0]!);
  t.like(jobs[1], { timeoutMs: 500, stdin: 'hi' });
  t.is(jobs[2]!.timeoutMs, 10_000);
});

test('without a time of its own a program gets 30 seconds, and the network where the policy leaves it', async (t) => {
  const { jobs, list } = setUp('docker', { maxTimeoutSeconds: 600, restrictNetwork: false });
  const [tool] = await list();
  await tool!.invoke({ language: 'python', code: '1' }, toolContext());
  t.like(jobs[0], { timeoutMs: 30_000, allowNetwork: true });
});

test('the model gets what came of it as JSON, in which nothing is lost', async (t) => {
  const { list } = setUp('local', {}, { stdout: 'a\0b', stderr: 'é', isTruncated: true });
  const [tool] = await list();
  const result = await tool!.invoke({ language: 'python', code: '1' }, toolContext());
  t.true('content' in result && !result.isError && !result.isTimeout);
  t.deepEqual(JSON.parse('content' in result ? result.content : ''), {
    status: 'success',
    exit_code: 0,
    stdout: 'a\0b',
    stderr: 'é',
    truncated: true,
    duration_ms: 12,
  });
});

test('a failed program is an error, and one that took too long is a timeout', async (t) => {
  for (const [status, isTimeout] of [
    ['error', false],
    ['timeout', true],
  ] as const) {
    const { list } = setUp('local', {}, { status, exitCode: null });
    const [tool] = await list();
    t.like(await tool!.invoke({ language: 'python', code: '1' }, toolContext()), {
      isError: true,
      isTimeout,
    });
  }
});

test('a policy that has changed since the tool was offered holds', async (t) => {
  const { jobs, policies, list } = setUp('docker');
  const [tool] = await list();
  policies.current = { ...DEFAULT_SANDBOX_POLICY, allowDocker: false };
  const call = async () => tool!.invoke({ language: 'python', code: '1' }, toolContext());
  await t.throwsAsync(call, { code: 'sandbox.forbidden' });
  t.is(jobs.length, 0);
});
