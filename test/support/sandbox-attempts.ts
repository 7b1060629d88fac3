import { readdir, readFile } from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import type { Sandbox, SandboxResult } from '../../plugins/agent-engine/contract.ts';
import { sandboxJob } from './sandbox.ts';
import { until } from './until.ts';

/**
 * Opens the sandbox of the test file once; undefined, with the reason logged, where this machine has none of that kind.
 */
export type OpenSandbox = (t: ExecutionContext) => Promise<Sandbox | undefined>;

/**
 * What every engine must do with well-meant code and with hostile code. Registers the tests in the file that calls it.
 *
 * @param allowsNamespaces whether its filter lets code make user namespaces, as Podman's does
 */
export function sandboxAttempts(open: OpenSandbox, allowsNamespaces = async () => false): void {
  const attempt = (title: string, body: (t: ExecutionContext, sandbox: Sandbox) => Promise<void>) => {
    test(title, async (t) => {
      t.timeout(120_000);
      const sandbox = await open(t);
      if (sandbox !== undefined) await body(t, sandbox);
    });
  };

  attempt('each language runs, with stdin, stdout, stderr and an exit code', async (t, sandbox) => {
    const programs = {
      python: 'import sys; print(sys.stdin.read().upper().strip()); print("e", file=sys.stderr); sys.exit(3)',
      javascript:
        'const fs = require("fs"); console.log(fs.readFileSync(0, "utf8").toUpperCase().trim()); console.error("e"); process.exit(3)',
      shell: 'read -r line; [ "$line" = "hällo 🙂" ] && echo "HÄLLO 🙂"; echo e >&2; exit 3',
    } as const;
    for (const language of ['python', 'javascript', 'shell'] as const) {
      const result = await sandbox.run(sandboxJob(language, programs[language], { stdin: 'hällo 🙂\n' }));
      t.like(result, {
        status: 'error',
        exitCode: 3,
        stdout: 'HÄLLO 🙂\n',
        stderr: 'e\n',
        isTruncated: false,
      });
    }
  });

  attempt('JavaScript may be an ES module', async (t, sandbox) => {
    const code = 'import os from "node:os"; console.log(await Promise.resolve(typeof os.EOL));';
    t.like(await sandbox.run(sandboxJob('javascript', code)), { status: 'success', stdout: 'string\n' });
  });

  attempt('code as large as is allowed runs, and a NUL byte in stdin arrives', async (t, sandbox) => {
    const code = `import sys; data = sys.stdin.buffer.read(); print(len(data), data[:3])\n#${'x'.repeat(250 * 1024)}`;
    const stdin = `a\0b${'y'.repeat(500 * 1024)}`;
    const result = await sandbox.run(sandboxJob('python', code, { stdin }));
    t.is(result.stdout, `${stdin.length} b'a\\x00b'\n`);
  });

  attempt('the environment holds nothing of the gateway', async (t, sandbox) => {
    const { stdout } = await sandbox.run(sandboxJob('python', 'import os; print(sorted(os.environ))'));
    const allowed = [
      'HOME',
      'HOSTNAME',
      'LANG',
      'LC_CTYPE',
      'PATH',
      'PWD',
      'PYTHONDONTWRITEBYTECODE',
      'PYTHONUNBUFFERED',
      'TERM',
      'TMPDIR',
      'container',
    ];
    const names: string[] = JSON.parse(stdout.replaceAll("'", '"'));
    t.deepEqual(
      names.filter((name) => !allowed.includes(name)),
      [],
    );
  });

  attempt('files of the host are not there, and what is there cannot be written', async (t, sandbox) => {
    const code = `
import os
for path in ['/etc/shadow', '/etc/passwd', '/root', '/home', '${process.cwd()}', '/var/lib', '/var/run/docker.sock', '/proc/1/root/etc/shadow', '/proc/1/environ']:
    try:
        print(path, os.listdir(path) if os.path.isdir(path) else open(path).read()[:20])
    except OSError as error:
        pass
for path in ['/x', '/usr/bin/x', '/etc/x', '/dev/x', '/sys/x', '/proc/sys/kernel/core_pattern']:
    try:
        open(path, 'w').write('x')
        print('wrote', path)
    except OSError as error:
        pass
print('uid is root' if os.getuid() == 0 else 'done')`;
    const { stdout } = await sandbox.run(sandboxJob('python', code));
    // Podman lists the user that code runs as.
    const harmless =
      / \[\]$|environ (HOME|HOSTNAME|LANG|PATH|PWD|PYTHON|TERM|TMPDIR|container)|^\/etc\/passwd 65534:/;
    const found = stdout.split('\n').filter((line) => !harmless.test(line));
    t.deepEqual(found, ['done', '']);
  });

  attempt('there is no network, not even to the host itself', async (t, sandbox) => {
    const code = `
import socket
for address in [('127.0.0.1', 5432), ('127.0.0.1', 6379), ('1.1.1.1', 53), ('169.254.169.254', 80)]:
    try:
        socket.create_connection(address, 2)
        print('connected', address)
    except OSError:
        pass
print([name for _, name in socket.if_nameindex() if name != 'lo' and not name.startswith(('tunl', 'sit', 'ip6', 'gre', 'erspan', 'ip_vti'))])`;
    t.is((await sandbox.run(sandboxJob('python', code))).stdout, '[]\n');
  });

  attempt('processes of the host cannot be seen or signalled', async (t, sandbox) => {
    const code = `
import os
pids = [int(name) for name in os.listdir('/proc') if name.isdigit()]
print(len(pids) < 20)
for pid in (${process.pid}, ${process.ppid}):
    # Few processes are inside, so that a number as large as this is nobody's.
    if pid < 1000: continue
    if os.path.exists(f'/proc/{pid}'): print('seen')
    try:
        os.kill(pid, 0)
        print('signalled')
    except OSError: pass`;
    t.is((await sandbox.run(sandboxJob('python', code))).stdout, 'True\n');
  });

  attempt(
    'code cannot gain rights: no set-user-id program, no new namespace, no mount',
    async (t, sandbox) => {
      const code = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
status = open('/proc/self/status').read()
print(libc.unshare(0x10000000), libc.mount(b'none', b'/tmp', b'tmpfs', 0, None), libc.setuid(0))
print([line for line in status.splitlines() if line.startswith(('CapEff', 'CapPrm', 'NoNewPrivs', 'Seccomp:'))])`;
      const { stdout } = await sandbox.run(sandboxJob('python', code));
      const [calls, status] = stdout.split('\n');
      t.is(calls, `${(await allowsNamespaces()) ? 0 : -1} -1 -1`);
      t.regex(
        status!,
        /CapPrm:\\t0000000000000000.*CapEff:\\t0000000000000000.*NoNewPrivs:\\t1.*Seccomp:\\t2/,
      );
    },
  );

  attempt('a fork bomb is held, and ends with its time', async (t, sandbox) => {
    const code = `
import os, time
for _ in range(1000):
    try:
        if os.fork() == 0: time.sleep(60); os._exit(0)
    except OSError as error:
        print('held'); break
time.sleep(60)`;
    const result = await sandbox.run(sandboxJob('python', code, { timeoutMs: 2000 }));
    t.like(result, { status: 'timeout', exitCode: null, stdout: 'held\n' });
    const bomb = await sandbox.run(sandboxJob('shell', ':(){ :|:& };:; sleep 60', { timeoutMs: 2000 }));
    t.not(bomb.status, 'success');
  });

  attempt('memory is limited, of one process and of many together', async (t, sandbox) => {
    const hungry = 'a = []\nwhile True: a.append(bytearray(10_000_000))';
    t.like(await sandbox.run(sandboxJob('python', hungry)), { status: 'error' });
    const buffers = 'const a = []; for (;;) a.push(Buffer.alloc(10_000_000, 1));';
    t.like(await sandbox.run(sandboxJob('javascript', buffers)), { status: 'error' });
    const many = `
import os, time
for _ in range(8):
    if os.fork() == 0:
        a = bytearray(b'x') * 100_000_000
        time.sleep(8); os._exit(0)
for _ in range(8): print(os.wait()[1])`;
    const result = await sandbox.run(sandboxJob('python', many));
    t.is(result.status, 'error', result.stderr);
  });

  attempt('the disk cannot be filled', async (t, sandbox) => {
    const code = `
import os
total = 0
for folder in ['/work', '/tmp', '/dev/shm', '/var/tmp', '/']:
    try:
        with open(folder + '/big', 'wb') as file:
            while True: total += file.write(b'x' * 1_000_000); file.flush()
    except OSError: pass
print(total < 200_000_000)`;
    const result = await sandbox.run(
      sandboxJob('python', `import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n${code}`),
    );
    t.is(result.stdout, 'True\n', result.stderr);
  });

  attempt('output without end is cut off, and ends the code', async (t, sandbox) => {
    const result = await sandbox.run(sandboxJob('shell', 'yes 0123456789', { maxOutputBytes: 1000 }));
    t.like(result, { isTruncated: true });
    t.not(result.status, 'success');
    t.is(result.stdout.length, 1000);
  });

  attempt('a program that writes somewhat more than is kept goes on', async (t, sandbox) => {
    const code = 'import sys\nfor _ in range(3): print("x" * 1000)\nprint("y" * 1000, file=sys.stderr)';
    const result = await sandbox.run(sandboxJob('python', code, { maxOutputBytes: 1500 }));
    t.like(result, { status: 'success', exitCode: 0, isTruncated: true });
    t.deepEqual([result.stdout.length, result.stderr.length], [1500, 1001]);
  });

  attempt('binary output is text in the end', async (t, sandbox) => {
    const code = 'import sys; sys.stdout.buffer.write(b"a\\xff\\x00\\r\\n\\xe2\\x82"); sys.stdout.flush()';
    t.is((await sandbox.run(sandboxJob('python', code))).stdout, 'a\ufffd\0\r\n\ufffd');
  });

  attempt('an endless loop ends with its time, whatever signals it ignores', async (t, sandbox) => {
    const code = 'trap "" TERM INT HUP QUIT; echo begun; while :; do :; done';
    const result = await sandbox.run(sandboxJob('shell', code, { timeoutMs: 700 }));
    t.like(result, { status: 'timeout', exitCode: null, stdout: 'begun\n' });
    t.true(result.durationMs >= 690 && result.durationMs < 20_000, String(result.durationMs));
  });

  attempt('nothing outlives the program', async (t, sandbox) => {
    const seconds = 100_000 + process.pid;
    const code = `setsid sleep ${seconds} >/dev/null 2>&1 & sleep ${seconds} & echo done`;
    t.like(await sandbox.run(sandboxJob('shell', code)), { status: 'success', stdout: 'done\n' });
    await until(async () => !(await isRunning(`sleep\0${seconds}`)));
  });

  attempt('an abort ends the code and the call within a second', async (t, sandbox) => {
    const seconds = 200_000 + process.pid;
    const controller = new AbortController();
    const job = sandboxJob('shell', `trap "" TERM; sleep ${seconds}`, { signal: controller.signal });
    const run = sandbox.run(job).catch((error: Error) => error.message);
    await until(() => isRunning(`sleep\0${seconds}`), 60_000);
    const begin = performance.now();
    controller.abort(new Error('cancelled'));
    t.is(await run, 'cancelled');
    t.true(performance.now() - begin < 1000);
    await until(async () => !(await isRunning(`sleep\0${seconds}`)));
  });

  attempt('executions at the same time know nothing of each other', async (t, sandbox) => {
    const code =
      'echo $1 >> /work/file; echo mine >> /tmp/file; sleep 0.2; cat /work/file /tmp/file; ls /work';
    const results = await Promise.all(
      Array.from({ length: 4 }, (_, index) =>
        sandbox.run(sandboxJob('shell', code, { tenantId: `t${index}` })),
      ),
    );
    for (const { stdout } of results as SandboxResult[]) t.is(stdout, '\nmine\nfile\n');
  });
}

/**
 * True while a process of this machine, in whatever namespace, has this in its command line (NUL between arguments).
 */
export async function isRunning(commandLine: string): Promise<boolean> {
  const names = await readdir('/proc');
  const lines = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return lines.some((line) => line.startsWith(commandLine));
}
