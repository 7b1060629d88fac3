import test from 'ava';
import { systemCallFilter } from '../../../../../../plugins/agent-engine/services/sandbox/system-call-filter.ts';

const ALLOW = 0x7fff_0000;
const [EPERM, ENOSYS, EAFNOSUPPORT] = [0x0005_0001, 0x0005_0026, 0x0005_0061];
const KILL = 0x8000_0000;
const [X64, ARM64] = [0xc000003e, 0xc00000b7];

/** What the kernel would do with the program: the few instructions that it uses. */
function decide(program: Buffer, call: { arch: number; number: number; argument?: number }): number {
  const words = new Map([
    [0, call.number],
    [4, call.arch],
    [16, call.argument ?? 0],
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

test('there is none for an architecture whose numbers are not known', (t) => {
  t.is(systemCallFilter('riscv64'), undefined);
});
