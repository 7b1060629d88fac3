import path from 'node:path';
import test from 'ava';
import { checkPlugin } from '../../../scripts/check-plugin/check-plugin.ts';
import { available } from '../../support/services.ts';

const NOTES = path.resolve(import.meta.dirname, '../../../examples/plugins/notes');

test('a plugin is checked on each database that is named', async (t) => {
  t.timeout(300_000);
  if (!(await available(t, 'postgres')) || !(await available(t, 'mariadb'))) return;
  const databases = ['sqlite', 'postgres://root@127.0.0.1:5432/test', 'mysql://root@127.0.0.1:3306/test'];
  const titles: string[] = [];
  for await (const { title, findings } of checkPlugin(NOTES, databases)) {
    titles.push(title);
    t.deepEqual(findings, [], title);
  }
  for (const family of ['sqlite', 'postgres', 'mysql'])
    t.true(titles.includes(`no list, read or change crosses tenants (${family})`), family);
});
