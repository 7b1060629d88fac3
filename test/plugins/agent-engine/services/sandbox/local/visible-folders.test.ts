import test from 'ava';
import {
  exposedPaths,
  findVisibleFolders,
} from '../../../../../../plugins/agent-engine/services/sandbox/bubblewrap-arguments.ts';

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
