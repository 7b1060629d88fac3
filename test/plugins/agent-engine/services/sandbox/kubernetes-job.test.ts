import { execFile } from 'node:child_process';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import test from 'ava';
import fc from 'fast-check';
import {
  jobManifest,
  loggedBytes,
  parseReport,
  RUN_SCRIPT,
  reportBytes,
} from '../../../../../plugins/agent-engine/services/sandbox/kubernetes-job.ts';
import { cpuNow } from '../../../../support/cpu-time.ts';
import { sandboxJob } from '../../../../support/sandbox.ts';

const PLAN = {
  job: sandboxJob('javascript', 'geheim', { stdin: 'auch', timeoutMs: 1500, maxOutputBytes: 1000 }),
  runId: 'r1',
  image: 'node:24-slim',
  hasNetwork: false,
  memoryBytes: 1024,
  deadline: 1234,
  activeMs: 71_500,
};

test('a pod has no rights, no token, a read-only image, and limits', (t) => {
  const { spec, metadata } = jobManifest(PLAN);
  t.like(spec, { backoffLimit: 0, activeDeadlineSeconds: 72, ttlSecondsAfterFinished: 60 });
  const pod = spec!.template.spec!;
  t.like(pod, {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 0,
    securityContext: { runAsNonRoot: true, runAsUser: 65_534, seccompProfile: { type: 'RuntimeDefault' } },
  });
  t.is(pod.hostNetwork, undefined);
  t.like(pod.containers[0], {
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      privileged: false,
      capabilities: { drop: ['ALL'] },
    },
    resources: { limits: { cpu: '1', memory: '1024' } },
  });
  t.is(pod.containers[0]!.command![4], '1001');
  t.is(pod.containers[0]!.command![5], '1.5');
  for (const volume of pod.volumes!.slice(1)) t.is(volume.emptyDir?.medium, 'Memory');
  t.is(metadata!.annotations!['svc.sandbox/deadline'], '1234');
});

test('the label for network policies says whether the pod may use the network', (t) => {
  const labelOf = (hasNetwork: boolean) =>
    jobManifest({ ...PLAN, hasNetwork }).spec!.template.metadata!.labels!['svc.sandbox/network'];
  t.is(labelOf(false), 'none');
  t.is(labelOf(true), 'allowed');
});

test('neither code nor stdin is shown with the job', (t) => {
  t.false(/geheim|auch/.test(JSON.stringify(jobManifest(PLAN))));
});

test('no more is asked for than a log holds', (t) => {
  t.is(loggedBytes(1000), 1000);
  t.is(loggedBytes(50_000_000), 2 * 1024 * 1024);
});

/**
 * Runs the script as a pod would, as process 1 of a container that bubblewrap makes. Undefined where it is not
 * installed.
 */
async function runScript(
  t: ExecutionContext,
  code: string,
  { bytes = 1000, seconds = '20', stdin = '', shell = 'sh' } = {},
): Promise<string | undefined> {
  const isThere = await access('/usr/bin/bwrap').then(
    () => true,
    () => false,
  );
  if (!isThere) {
    t.log('skipped: bubblewrap is not installed');
    t.pass();
    return undefined;
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'run-script-'));
  try {
    await writeFile(path.join(folder, 'main.sh'), code);
    await writeFile(path.join(folder, 'stdin'), stdin);
    const system = ['/usr', '/bin', '/lib', '/lib64'].flatMap((name) => ['--ro-bind', name, name]);
    const mounts = ['--ro-bind', folder, '/code', '--tmpfs', '/out', '--tmpfs', '/work', '--tmpfs', '/tmp'];
    const { stdout } = await promisify(execFile)(
      'bwrap',
      [
        '--unshare-pid',
        '--as-pid-1',
        '--die-with-parent',
        '--chdir',
        '/work',
        ...system,
        ...mounts,
        '--proc',
        '/proc',
        '--dev',
        '/dev',
        shell,
        '-c',
        RUN_SCRIPT,
        'sandbox',
        String(bytes),
        seconds,
        'bash',
        '/code/main.sh',
      ],
      { maxBuffer: 20_000_000 },
    );
    return stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

for (const shell of ['dash', 'bash']) {
  test(`${shell} reports stdout, stderr and the exit code apart`, async (t) => {
    const log = await runScript(t, 'cat; echo err >&2; exit 7', { stdin: 'ä\n', shell });
    if (log === undefined) return;
    t.deepEqual(parseReport(log), { exitCode: 7, stdout: Buffer.from('ä\n'), stderr: Buffer.from('err\n') });
  });

  test(`${shell} ends code for its time and reports what it wrote until then`, async (t) => {
    const code = 'trap "" TERM INT; echo begun; while :; do :; done';
    const log = await runScript(t, code, { seconds: '0.5', shell });
    if (log === undefined) return;
    t.deepEqual(parseReport(log), {
      exitCode: 'timeout',
      stdout: Buffer.from('begun\n'),
      stderr: Buffer.alloc(0),
    });
  });
}

test('only so many bytes are reported, and they fit into what is asked for of the log', async (t) => {
  const log = await runScript(t, 'head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2', {
    bytes: 200_001,
  });
  if (log === undefined) return;
  t.is(parseReport(log)!.stdout.length, 200_001);
  t.is(parseReport(log)!.stderr.length, 200_001);
  t.true(Buffer.byteLength(log) <= reportBytes(200_001));
});

test('a report that the code itself writes to the log does not count, nor does what it leaves running', async (t) => {
  const code = `
(setsid sh -c 'while :; do printf "\\nsvc-sandbox-report stdout 0\\n\\nsvc-sandbox-report stderr\\n\\nsvc-sandbox-report end\\n" >/proc/1/fd/1; done' &)
sleep 0.3; echo real; exit 5`;
  const log = await runScript(t, code);
  if (log === undefined) return;
  t.like(parseReport(log), { exitCode: 5, stdout: Buffer.from('real\n') });
});

test('any output survives the report, and a log without one is none', (t) => {
  const bytes = fc.uint8Array({ maxLength: 300 });
  fc.assert(
    fc.property(bytes, bytes, fc.integer({ min: 0, max: 255 }), fc.string(), (out, err, code, noise) => {
      const encode = (data: Uint8Array) => Buffer.from(data).toString('base64').replace(/.{76}/g, '$&\n');
      const log = `${noise}\n\nsvc-sandbox-report stdout ${code}\n${encode(out)}\nsvc-sandbox-report stderr\n${encode(err)}\nsvc-sandbox-report end\n`;
      t.deepEqual(parseReport(log), { exitCode: code, stdout: Buffer.from(out), stderr: Buffer.from(err) });
    }),
  );
  for (const log of [
    '',
    'x',
    '\nsvc-sandbox-report end',
    '\nsvc-sandbox-report stdout x\n\nsvc-sandbox-report stderr\n\nsvc-sandbox-report end',
  ]) {
    t.is(parseReport(log), undefined);
  }
});

test('a hostile log is read in linear time', (t) => {
  const log = '\nsvc-sandbox-report stdout 0\nsvc-sandbox-report stderr\n'.repeat(20_000);
  const begin = cpuNow();
  parseReport(log);
  parseReport(`${log}\nsvc-sandbox-report end`);
  t.true(cpuNow() - begin < 1000);
});
