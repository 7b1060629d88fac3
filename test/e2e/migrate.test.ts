import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { ALL_FAMILIES, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { runGatewayProcess, temporaryFolder } from '../support/gateway-process.ts';
import { chosen } from '../support/sample.ts';

const MIGRATE_ONLY = ['--migrate-only'];

async function migrate(
  t: ExecutionContext,
  fresh: FreshDatabase | undefined,
  env: Record<string, string> = {},
) {
  const folder = await temporaryFolder(t);
  return runGatewayProcess(t, folder, { ...fresh?.environment, ...env }, MIGRATE_ONLY);
}

for (const family of chosen('migrate only', ALL_FAMILIES, 1)) {
  test(`${family}: --migrate-only makes every table, serves nothing, and may be repeated`, async (t) => {
    const fresh = await freshDatabase(t, family);
    if (fresh === undefined) return;
    for (let again = 0; again < 2; again += 1) {
      const { code, stdout } = await migrate(t, fresh);
      t.is(code, 0, stdout);
      t.regex(stdout, /"owners":\["kernel",.*"platform".*\].*every table has its newest form/);
      t.notRegex(stdout, /listening/);
    }
    const [row] = await fresh.ask('select count(*) as n from tenants');
    t.is(Number(row?.n), 1);
  });
}

test('--migrate-only that cannot reach the database ends with 1 and says where it looked', async (t) => {
  const { code, stderr } = await migrate(t, undefined, { DATABASE_URL: 'postgres://u:secret@127.0.0.1:1/x' });
  t.is(code, 1);
  t.regex(stderr, /could not be migrated: PostgreSQL cannot be reached at DATABASE_URL/);
  t.notRegex(stderr, /secret/);
});

test('--migrate-only with a plugin that cannot be loaded ends with 1 and names it', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(path.join(folder, 'mine', 'broken'), { recursive: true });
  await writeFile(path.join(folder, 'mine', 'broken', 'plugin.ts'), 'export default 1;');
  const { code, stderr } = await migrate(t, undefined, { SVC_PLUGIN_DIRS: path.join(folder, 'mine') });
  t.is(code, 1);
  t.regex(stderr, /broken cannot be loaded/);
});

test('an argument that the gateway does not know is refused', async (t) => {
  const { code, stderr } = await runGatewayProcess(t, await temporaryFolder(t), {}, ['--migrate']);
  t.is(code, 1);
  t.regex(stderr, /knows --migrate-only and no other argument, not --migrate/);
});
