import { globSync } from 'node:fs';
import path from 'node:path';
import test from 'ava';
import { checkPlugin } from '../../../scripts/check-plugin/check-plugin.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');

for (const file of globSync(['plugins/*/plugin.ts', 'examples/plugins/*/plugin.ts'], { cwd: ROOT })) {
  const folder = path.dirname(file);
  test.serial(`nothing is found in ${folder}`, async (t) => {
    t.timeout(300_000);
    for await (const { title, findings } of checkPlugin(path.join(ROOT, folder)))
      t.deepEqual(findings, [], title);
  });
}
