import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { temporaryFolder } from '../support/gateway-process.ts';

const SCRIPT = path.join(import.meta.dirname, '../support/failed-files.ts');
const LEASES = 'groups › messages › foundation › leases › open-leases › a lease goes away';
const ALONE = 'foundation › limits › redis-windows.alone › windows are shared';
const end = (file: string) => `${file} exited with a non-zero exit code: 1`;

for (const [what, titles, isKnown, files] of [
  ['nothing failed', [], true, ''],
  ['a test of a group', [LEASES], true, 'test/foundation/leases/open-leases.test.ts\n'],
  ['a test of its own process', [ALONE], true, 'test/foundation/limits/redis-windows.alone.test.ts\n'],
  [
    'an error that nobody caught, where a test of that process failed',
    [LEASES, 'GatewayError: The lease did not become free', end('test/groups/messages.ts')],
    true,
    'test/foundation/leases/open-leases.test.ts\n',
  ],
  ['an error that nobody caught, and no more', ['Error: lost', end('test/groups/messages.ts')], false, ''],
  [
    'a process that ended, and a test of another one',
    [LEASES, end('test/groups/kernel.ts')],
    false,
    'test/foundation/leases/open-leases.test.ts\n',
  ],
  [
    'what belongs to no process',
    [LEASES, 'no file is there'],
    false,
    'test/foundation/leases/open-leases.test.ts\n',
  ],
] as const) {
  test(`${what}: the files to run once more, and whether they are all that failed`, async (t) => {
    const report = path.join(await temporaryFolder(t), 'report.tap');
    await writeFile(
      report,
      titles.map((title, at) => `not ok ${at + 1} - ${title}\n  ---\n  ...\n`).join(''),
    );
    const { status, stdout } = spawnSync(process.execPath, [SCRIPT, report], { encoding: 'utf8' });
    t.deepEqual([status, stdout], [isKnown ? 0 : 1, files]);
  });
}
