import test from 'ava';
import {
  type BubblewrapPlan,
  bubblewrapArguments,
} from '../../../../../../plugins/agent-engine/services/sandbox/bubblewrap-arguments.ts';

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
