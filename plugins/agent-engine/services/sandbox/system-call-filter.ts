/**
 * System calls that code has no use for, and that would give it more than the sandbox means to: other namespaces,
 * mounts, other processes' memory, the kernel's keys, and memory that no limit counts. Numbers of x86-64 and arm64;
 * from 424 on they are the same on both (the kernel's `asm/unistd_64.h` and `asm-generic/unistd.h`).
 */
const REFUSED: Readonly<Record<string, readonly [x64: number | undefined, arm64: number | undefined]>> = {
  acct: [163, 89],
  add_key: [248, 217],
  bpf: [321, 280],
  chroot: [161, 51],
  clock_settime: [227, 112],
  delete_module: [176, 106],
  finit_module: [313, 273],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fsopen: [430, 430],
  fspick: [433, 433],
  init_module: [175, 105],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  io_uring_setup: [425, 425],
  ioperm: [173, undefined],
  iopl: [172, undefined],
  kexec_file_load: [320, 294],
  kexec_load: [246, 104],
  keyctl: [250, 219],
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  modify_ldt: [154, undefined],
  mount: [165, 40],
  mount_setattr: [442, 442],
  move_mount: [429, 429],
  msgget: [68, 186],
  open_by_handle_at: [304, 265],
  open_tree: [428, 428],
  perf_event_open: [298, 241],
  pidfd_getfd: [438, 438],
  pivot_root: [155, 41],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  ptrace: [101, 117],
  quotactl: [179, 60],
  reboot: [169, 142],
  request_key: [249, 218],
  semget: [64, 190],
  setns: [308, 268],
  settimeofday: [164, 170],
  shmget: [29, 194],
  swapoff: [168, 225],
  swapon: [167, 224],
  syslog: [103, 116],
  umount2: [166, 39],
  unshare: [272, 97],
  userfaultfd: [323, 282],
};

interface Architecture {
  readonly column: 0 | 1;
  /** `AUDIT_ARCH_*` */
  readonly audit: number;
  readonly clone: number;
  readonly socket: number;
  readonly setsockopt: number;
}

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: { column: 0, audit: 0xc000003e, clone: 56, socket: 41, setsockopt: 54 },
  arm64: { column: 1, audit: 0xc00000b7, clone: 220, socket: 198, setsockopt: 208 },
};

const CLONE3 = 435;
/** All `CLONE_NEW…` flags. */
const NAMESPACE_FLAGS = 0x7e02_0000;
/**
 * Unix, IPv4, IPv6, netlink: a network namespace holds those. It does not hold vsock, the line to a virtual machine's
 * host.
 */
const SOCKET_FAMILIES = [1, 2, 10, 16];
/** The level of options of all sockets, and those that make their buffers larger. */
const [SOL_SOCKET, SO_SNDBUF, SO_RCVBUF] = [1, 7, 8];

// Classic BPF (linux/bpf_common.h) over `struct seccomp_data`.
const [LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, JUMP_IF_ANY_BIT, RETURN] = [0x20, 0x15, 0x35, 0x45, 0x06];
const [OFFSET_NUMBER, OFFSET_ARCHITECTURE, OFFSET_ARGUMENTS] = [0, 4, 16];
const [ALLOW, KILL_PROCESS, FAIL] = [0x7fff_0000, 0x8000_0000, 0x0005_0000];
const [DONE, EPERM, ENOSYS, EAFNOSUPPORT] = [0, 1, 38, 97];
const X32_BIT = 0x4000_0000;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/**
 * The filter as bubblewrap's `--seccomp` takes it: a refused call fails with EPERM. Undefined on an architecture whose
 * numbers are not known here.
 */
export function systemCallFilter(architecture: string): Buffer | undefined {
  const known = ARCHITECTURES[architecture];
  if (known === undefined) return undefined;
  const program: Instruction[] = [
    [LOAD, 0, 0, OFFSET_ARCHITECTURE],
    [JUMP_IF_EQUAL, 1, 0, known.audit],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, OFFSET_NUMBER],
    // The x32 calls have numbers of their own, which are not listed.
    [JUMP_IF_AT_LEAST, 0, 1, X32_BIT],
    [RETURN, 0, 0, FAIL | EPERM],
  ];
  for (const numbers of Object.values(REFUSED)) {
    const number = numbers[known.column];
    if (number !== undefined) program.push([JUMP_IF_EQUAL, 0, 1, number], [RETURN, 0, 0, FAIL | EPERM]);
  }
  program.push(
    // Its flags are in memory, where no filter can look. C libraries then use clone.
    [JUMP_IF_EQUAL, 0, 1, CLONE3],
    [RETURN, 0, 0, FAIL | ENOSYS],
    [JUMP_IF_EQUAL, 0, 4, known.clone],
    [LOAD, 0, 0, OFFSET_ARGUMENTS],
    [JUMP_IF_ANY_BIT, 0, 1, NAMESPACE_FLAGS],
    [RETURN, 0, 0, FAIL | EPERM],
    [RETURN, 0, 0, ALLOW],
    // Code that wants other buffers gets those that it has: what they hold is counted by their default.
    [JUMP_IF_EQUAL, 0, 7, known.setsockopt],
    [LOAD, 0, 0, OFFSET_ARGUMENTS + 8],
    [JUMP_IF_EQUAL, 0, 4, SOL_SOCKET],
    [LOAD, 0, 0, OFFSET_ARGUMENTS + 16],
    [JUMP_IF_EQUAL, 1, 0, SO_SNDBUF],
    [JUMP_IF_EQUAL, 0, 1, SO_RCVBUF],
    [RETURN, 0, 0, FAIL | DONE],
    [RETURN, 0, 0, ALLOW],
    [JUMP_IF_EQUAL, 0, SOCKET_FAMILIES.length + 2, known.socket],
    [LOAD, 0, 0, OFFSET_ARGUMENTS],
    ...SOCKET_FAMILIES.map(
      (family, index): Instruction => [JUMP_IF_EQUAL, SOCKET_FAMILIES.length - index, 0, family],
    ),
    [RETURN, 0, 0, FAIL | EAFNOSUPPORT],
    [RETURN, 0, 0, ALLOW],
  );
  return encode(program);
}

function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    const at = index * 8;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(ifTrue, at + 2);
    bytes.writeUInt8(ifFalse, at + 3);
    bytes.writeUInt32LE(value >>> 0, at + 4);
  }
  return bytes;
}
