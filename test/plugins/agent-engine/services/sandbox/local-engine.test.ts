import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { access, type FileHandle, mkdtemp, open as openFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import test from 'ava';
import pino from 'pino';
import type { Sandbox } from '../../../../../plugins/agent-engine/contract.ts';
import {
  type BubblewrapPlan,
  bubblewrapArguments,
  exposedPaths,
  findHostPrograms,
  findVisibleFolders,
} from '../../../../../plugins/agent-engine/services/sandbox/bubblewrap-arguments.ts';
import { runBubblewrap } from '../../../../../plugins/agent-engine/services/sandbox/local-engine.ts';
import { systemCallFilter } from '../../../../../plugins/agent-engine/services/sandbox/system-call-filter.ts';
import { openTestSandbox, sandboxJob } from '../../../../support/sandbox.ts';
import { isRunning, sandboxAttempts } from '../../../../support/sandbox-attempts.ts';
import { until } from '../../../../support/until.ts';

const PROGRAM = fileURLToPath(new URL('../../../../support/sandbox-program.ts', import.meta.url));

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

/** Runs code as a gateway does that is not root. */
async function runAsNobody(code: string) {
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
  return { end, output: Buffer.concat(output).toString() };
}

test('it works for a user who is not root, in a namespace in which he is nobody', async (t) => {
  if (!(await hasBubblewrap(t))) return;
  if (process.getuid?.() !== 0) {
    t.log('skipped: all other tests of this file are that already');
    t.pass();
    return;
  }
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
  const { end, output } = await runAsNobody(code);
  t.is(output, '65534 False\nwrote /work/x\nheld\n');
  t.deepEqual(end, { exitCode: 0 });
});

test('code that makes files without end is ended, whoever the gateway runs as', async (t) => {
  const sandbox = await open(t);
  if (sandbox === undefined) return;
  const code = (folder: string, files: number) => `
import os, time
for n in range(${files}): os.mknod(f'${folder}/{n}')
print('made', flush=True)
time.sleep(${files > 16_384 ? 15 : 0.3})`;
  for (const folder of ['/work', '/tmp', '/dev/shm']) {
    const { status, stderr } = await sandbox.run(sandboxJob('python', code(folder, 17_000)));
    t.is(status, 'error', folder);
    t.regex(stderr, /more than 16384 files/, folder);
  }
  const { stdout, status } = await sandbox.run(sandboxJob('python', code('/work', 16_000)));
  t.deepEqual([stdout, status], ['made\n', 'success']);
  if (process.getuid?.() !== 0) return;
  t.deepEqual((await runAsNobody(code('/work', 17_000))).end, {
    exitCode: null,
    note: 'it made more than 16384 files',
  });
});

test('memory of the kernel that no limit counts cannot be had as semaphores and queues', async (t) => {
  const sandbox = await open(t);
  if (sandbox === undefined) return;
  const code = `
import ctypes
c = ctypes.CDLL(None)
print(c.semget(0, 32000, 0o1600), c.msgget(0, 0o1600), c.shmget(0, 4096, 0o1600))`;
  t.is((await sandbox.run(sandboxJob('python', code))).stdout, '-1 -1 -1\n');
});

test('buffers of sockets count as memory, and a program’s own few are no harm', async (t) => {
  const sandbox = await open(t);
  if (sandbox === undefined) return;
  const filling = (pairs: string) => `
import os, socket, time
def tcp():
    listening = socket.create_server(('127.0.0.1', 0))
    return socket.create_connection(listening.getsockname()), listening.accept()[0]
for _ in range(12):
    if os.fork() == 0:
        held = [${pairs}]
        for pair in held:
            for one in pair:
                one.setblocking(False)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
                try:
                    while True: one.send(bytes(4096))
                except OSError: pass
        time.sleep(15)
time.sleep(15)`;
  for (const pairs of ['socket.socketpair() for _ in range(100)', 'tcp() for _ in range(40)']) {
    const { status, stderr } = await sandbox.run(sandboxJob('python', filling(pairs)));
    t.is(status, 'error', pairs);
    t.regex(stderr, /more than 256 MiB of memory/, pairs);
  }
  const harmless = `
import asyncio, socket
held = [socket.socketpair() for _ in range(100)]
before = held[0][0].getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
held[0][0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
print(held[0][0].getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == before)
asyncio.run(asyncio.sleep(0.3))`;
  const { stdout, status } = await sandbox.run(sandboxJob('python', harmless));
  t.deepEqual([stdout, status], ['True\n', 'success']);
  if (process.getuid?.() !== 0) return;
  const { end } = await runAsNobody(filling('socket.socketpair() for _ in range(100)'));
  t.regex(end.note ?? '', /more than 256 MiB of memory/);
});

test('code gets no file that the gateway was started with', async (t) => {
  if (!(await hasBubblewrap(t))) return;
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-inherited-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const secret = openSync(path.join(folder, 'secret'), 'w');
  t.teardown(() => closeSync(secret));
  const stdio: ('ignore' | 'pipe' | number)[] = ['ignore', 'pipe', 'pipe'];
  while (stdio.length < 40) stdio.push('ignore');
  const code = 'ls -l /proc/self/fd | grep secret; echo done';
  const gateway = spawn(process.execPath, [PROGRAM, code], { stdio: [...stdio, secret] });
  const [stdout, stderr] = [gateway.stdout!.toArray(), gateway.stderr!.toArray()];
  t.is(Buffer.concat(await stdout).toString(), 'done\n', Buffer.concat(await stderr).toString());
});

test('memory is watched while all threads that read files wait, for the resolver of names for example', async (t) => {
  if (!(await hasBubblewrap(t))) return;
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-fifo-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const fifo = path.join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const memoryBytes = 256 * 1024 * 1024;
  const args = bubblewrapArguments({
    language: 'python',
    programs: await findHostPrograms('python', process.execPath),
    folders: await findVisibleFolders(),
    hidden: [],
    rootRunsAs: process.getuid?.() === 0 ? 1_879_100_000 : undefined,
    memoryBytes,
    timeoutMs: 20_000,
    hasFilter: false,
  });
  const code = `
import os, time
print('begun', flush=True)
for _ in range(4):
    if os.fork() == 0:
        a = bytearray(b'x') * 100_000_000
        time.sleep(15); os._exit(0)
for _ in range(4): os.wait()`;
  const readers: Promise<FileHandle>[] = [];
  const end = await runBubblewrap(
    { bwrap: '/usr/bin/bwrap', args, filter: undefined, memoryBytes, log: pino({ enabled: false }) },
    {
      job: sandboxJob('python', code),
      stop: new AbortController().signal,
      started: () => undefined,
      // Node has four such threads. Each waits for somebody who writes.
      stdout: () => {
        while (readers.length < 4) readers.push(openFile(fifo, 'r'));
      },
      stderr: () => undefined,
    },
  );
  const writer = openSync(fifo, constants.O_RDWR);
  for (const reader of await Promise.all(readers)) await reader.close();
  closeSync(writer);
  t.is(readers.length, 4);
  t.is(end.exitCode, null);
  t.regex(end.note ?? '', /memory/);
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

test('only folders of interpreters are seen', async (t) => {
  const paths = (await findVisibleFolders()).map(({ path }) => path);
  t.true(paths.includes('/usr/bin'));
  for (const path of paths) t.regex(path, /^\/(usr\/|bin|lib|etc\/(alternatives|ld\.so\.cache)$)/);
});

test('a folder of the gateway inside of those is exposed, and has to be hidden', (t) => {
  const folders = [
    { path: '/usr/lib', kind: 'folder' },
    { path: '/lib', kind: 'link', target: 'usr/lib' },
  ] as const;
  t.deepEqual(
    exposedPaths(['/usr/lib/gateway', '/usr/library', '/srv/gateway', '/lib/x', '/', '/usr/lib'], folders),
    ['/usr/lib/gateway'],
  );
});

const PLAN: BubblewrapPlan = {
  language: 'python',
  programs: {
    bwrap: '/usr/bin/bwrap',
    prlimit: '/usr/bin/prlimit',
    setpriv: '/usr/bin/setpriv',
    interpreter: '/usr/bin/python3',
  },
  folders: [
    { path: '/usr/lib', kind: 'folder' },
    { path: '/lib', kind: 'link', target: 'usr/lib' },
  ],
  hidden: ['/usr/lib/gateway'],
  rootRunsAs: undefined,
  memoryBytes: 100 * 1024 * 1024,
  timeoutMs: 1500,
  hasFilter: true,
};

test('folders are read-only, links stay links, and what is hidden is covered after what shows it', (t) => {
  const line = bubblewrapArguments(PLAN).join(' ');
  t.regex(
    line,
    /--ro-bind \/usr\/lib \/usr\/lib --symlink usr\/lib \/lib --tmpfs \/usr\/lib\/gateway --remount-ro/,
  );
  t.false(/--bind /.test(line));
});

test('an ordinary user is nobody in a namespace, and root becomes somebody else', (t) => {
  const user = bubblewrapArguments(PLAN);
  t.true(user.includes('--unshare-user') && user.includes('--disable-userns'));
  t.false(user.includes('/usr/bin/setpriv'));
  const root = bubblewrapArguments({ ...PLAN, rootRunsAs: 1234 });
  t.false(root.includes('--unshare-user'));
  t.regex(root.join(' '), /-- \/usr\/bin\/setpriv --reuid=1234 --regid=1234 --clear-groups --no-new-privs/);
});

test('every execution has limits, no network and an empty environment', (t) => {
  for (const rootRunsAs of [undefined, 1234]) {
    const line = bubblewrapArguments({ ...PLAN, rootRunsAs }).join(' ');
    for (const part of [
      '--unshare-net',
      '--unshare-pid',
      '--unshare-ipc',
      '--new-session',
      '--die-with-parent',
      '--clearenv',
    ]) {
      t.true(line.includes(part), part);
    }
    t.regex(line, /--data=104857600:104857600 --cpu=3:3 --nproc=64:64 --nofile=256:256 .*--core=0:0/);
    t.regex(line, / -- \/usr\/bin\/python3 \/sandbox\/main\.py$/);
  }
});

const ALLOW = 0x7fff_0000;
const [EPERM, ENOSYS, EAFNOSUPPORT] = [0x0005_0001, 0x0005_0026, 0x0005_0061];
const KILL = 0x8000_0000;
const [X64, ARM64] = [0xc000003e, 0xc00000b7];
const SOL_SOCKET = 1;

/** What the kernel would do with the program: the few instructions that it uses. */
function decide(
  program: Buffer,
  call: { arch: number; number: number; argument?: number; third?: number },
): number {
  const words = new Map([
    [0, call.number],
    [4, call.arch],
    [16, call.argument ?? 0],
    [24, SOL_SOCKET],
    [32, call.third ?? 0],
  ]);
  let accumulator = 0;
  for (let at = 0; at < program.length / 8; at += 1) {
    const code = program.readUInt16LE(at * 8);
    const [yes, no] = [program.readUInt8(at * 8 + 2), program.readUInt8(at * 8 + 3)];
    const value = program.readUInt32LE(at * 8 + 4);
    if (code === 0x20) accumulator = words.get(value)!;
    else if (code === 0x15) at += accumulator === value ? yes : no;
    else if (code === 0x35) at += accumulator >= value ? yes : no;
    else if (code === 0x45) at += (accumulator & value) !== 0 ? yes : no;
    else if (code === 0x06) return value;
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error('the program has no end');
}

const CASES: [string, string, number, number, number, number | undefined][] = [
  ['reading is allowed', 'x64', X64, 0, ALLOW, undefined],
  ['unshare is refused', 'x64', X64, 272, EPERM, undefined],
  ['ptrace is refused', 'x64', X64, 101, EPERM, undefined],
  ['clone3 is not there', 'x64', X64, 435, ENOSYS, undefined],
  ['a thread is allowed', 'x64', X64, 56, ALLOW, 0x3d0f00],
  ['a new user namespace is refused', 'x64', X64, 56, EPERM, 0x1000_0011],
  ['a new network namespace is refused', 'x64', X64, 56, EPERM, 0x4000_0011],
  ['a unix socket is allowed', 'x64', X64, 41, ALLOW, 1],
  ['a netlink socket is allowed', 'x64', X64, 41, ALLOW, 16],
  ['a vsock is refused', 'x64', X64, 41, EAFNOSUPPORT, 40],
  ['an x32 call is refused', 'x64', X64, 0x4000_0000, EPERM, undefined],
  ['another architecture ends the process', 'x64', ARM64, 0, KILL, undefined],
  ['reading is allowed', 'arm64', ARM64, 63, ALLOW, undefined],
  ['unshare is refused', 'arm64', ARM64, 97, EPERM, undefined],
  ['a new user namespace is refused', 'arm64', ARM64, 220, EPERM, 0x1000_0011],
  ['a vsock is refused', 'arm64', ARM64, 198, EAFNOSUPPORT, 40],
  ['an IPv6 socket is allowed', 'arm64', ARM64, 198, ALLOW, 10],
];

for (const [title, architecture, arch, number, expected, argument] of CASES) {
  test(`${title} on ${architecture}`, (t) => {
    const program = systemCallFilter(architecture)!;
    t.is(decide(program, { arch, number, ...(argument === undefined ? {} : { argument }) }), expected);
  });
}

test('buffers of sockets keep their size, and other options are set', (t) => {
  for (const [architecture, arch, number] of [
    ['x64', X64, 54],
    ['arm64', ARM64, 208],
  ] as const) {
    const of = (third: number) => decide(systemCallFilter(architecture)!, { arch, number, third });
    t.deepEqual([2, 7, 8, 9].map(of), [ALLOW, 0x0005_0000, 0x0005_0000, ALLOW]);
  }
});

test('there is none for an architecture whose numbers are not known', (t) => {
  t.is(systemCallFilter('riscv64'), undefined);
});
