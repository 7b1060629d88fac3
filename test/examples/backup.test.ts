import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Family } from '../../foundation/data/family.ts';
import { startReceiver, verify } from '../plugins/runtime/webhook-kit.ts';
import { output } from '../scripts/deploy/deployment-files.ts';
import { ALL_FAMILIES, FAMILIES, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { temporaryFolder } from '../support/gateway-process.ts';
import { send } from '../support/request.ts';
import { skip } from '../support/services.ts';
import { layOut, leaveRecords, roleFor } from './backup-deployment.ts';
import { findData, makeData } from './kept-data.ts';
import { markOf, readBlocks } from './readme-blocks.ts';
import { openShell, type Shell } from './shell.ts';

/*
 * docs/backup.md as an operator follows it. A fence says to which part it belongs (`prepare`, `backup`, `restore`), and
 * to which family of databases where it is not for all.
 */

const blocks = readBlocks(await readFile(path.resolve(import.meta.dirname, '../../docs/backup.md'), 'utf8'));
const PARTS = ['prepare', 'backup', 'restore'] as const;
type Part = (typeof PARTS)[number];

/** The tools of a family, which have to be as new as its server. */
const TOOLS = { postgres: 'pg_dump', mysql: 'mariadb-dump' } as const;

test('every command of the guide belongs to a part that is followed', (t) => {
  for (const { language, marks, line } of blocks) {
    t.true(
      PARTS.some((part) => marks.includes(part)),
      `line ${line}`,
    );
    t.true(language === 'bash' || marks.some((mark) => mark.startsWith('file=')), `line ${line}`);
  }
  for (const family of FAMILIES)
    for (const part of ['backup', 'restore'])
      t.true(blocks.some(({ marks }) => marks[0] === part && marks[1] === family));
});

for (const family of FAMILIES) {
  test(`${family}: what the guide backs up comes back whole`, async (t) => {
    const fresh = await freshDatabase(t, family);
    if (fresh === undefined || !(await hasTools(t, fresh))) return;
    const { owner, environment } = await roleFor(t, fresh);
    const { DATABASE_URL, SVC_DATABASE_ROLE = 'agent_gateway_app' } = environment as Record<string, string>;
    const receiver = await startReceiver(t);
    const deployment = await layOut(t, {
      ...(DATABASE_URL === undefined ? {} : { DATABASE_URL, SVC_DATABASE_ROLE }),
      ...(family === 'postgres' ? { SVC_RUNTIME_BACKEND: 'postgres' } : { SVC_SQLITE_DB: 'jobs.db' }),
      SVC_SECRET_KEY: 'a-key-that-has-to-come-back-with-the-rest',
      SVC_EGRESS_ALLOW_PRIVATE: '127.0.0.1',
    });
    const { folder } = deployment;
    const backup = path.join(await temporaryFolder(t), 'backup');
    const name = DATABASE_URL === undefined ? 'unused' : new URL(DATABASE_URL).pathname.slice(1);
    const here = (text: string) =>
      text
        .replaceAll('/var/backups/gateway/2026-05-17', backup)
        .replaceAll('DATABASE=gateway', `DATABASE=${name}`)
        .replaceAll('PGUSER=postgres', 'PGUSER=root')
        .replaceAll('--owner=gateway', `--owner=${owner}`);
    const follow = async (shell: Shell, part: Part) => {
      let said = '';
      for (const block of blocks.filter(({ marks }) => marks.includes(part))) {
        if (ALL_FAMILIES.some((other) => other !== family && block.marks.includes(other))) continue;
        const file = markOf(block, 'file');
        if (file === undefined) said = await shell.run(here(block.text));
        else await writeFile(path.join(folder, file), `${here(block.text)}\n`, { mode: 0o600 });
      }
      return said;
    };
    const operator = () => {
      const { PATH = '', HOME = '' } = process.env;
      const shell = openShell(folder, { PATH, HOME });
      t.teardown(() => shell.close());
      return shell;
    };

    const before = await deployment.start();
    const token = (await readFile(path.join(folder, 'data/acp-token'), 'utf8')).trim();
    const made = await makeData(t, before.url, token, `${receiver.url}/hook`);
    const journal = await leaveRecords(t, folder);
    const first = operator();
    await follow(first, 'prepare');
    await follow(first, 'backup');
    await first.close();
    t.is((await stat(backup)).mode & 0o077, 0, 'nobody else reads the backup');
    await send(`${before.url}/v1/tenants`, { method: 'POST', token, body: { name: 'After' } });

    await before.stop('SIGKILL');
    await journal.die();
    await deployment.destroy();
    await dropDatabase(t, family, name);

    const second = operator();
    await follow(second, 'prepare');
    const checked = await follow(second, 'restore');
    t.regex(checked, /^ok {7}database/m);
    t.notRegex(checked, /^(?:wrong|skipped)/m);
    const { url } = await deployment.start();
    await findData(t, url, made, journal.ids);
    t.is(receiver.received.length, 1);
    t.notThrows(
      () => verify(made.webhookSecret, receiver.received[0]!),
      'the secret was opened with its key',
    );
  });
}

/**
 * Whether the tools of the family are there, and as new as the server; else the test is skipped, or failed with
 * `REQUIRE_SERVICES=1`.
 */
async function hasTools(t: ExecutionContext, { family, ask }: FreshDatabase): Promise<boolean> {
  if (family === 'sqlite') return true;
  const tool = TOOLS[family];
  const version = /(?:\(PostgreSQL\)|Distrib|from) (\d+(?:\.\d+)?)/.exec(
    (await output(tool, '--version')) ?? '',
  )?.[1];
  const [row] = await ask(
    family === 'postgres' ? 'show server_version' : 'select version() as server_version',
  );
  const server = /^\d+(?:\.\d+)?/.exec(String(row?.server_version))![0];
  if (version !== undefined && Number.parseInt(version, 10) >= Number.parseInt(server, 10)) return true;
  skip(
    t,
    version === undefined ? `${tool} is not there` : `${tool} is of ${version}, and the server of ${server}`,
  );
  return false;
}

/** The database is lost. Its server is there, with the roles. */
async function dropDatabase(t: ExecutionContext, family: Family, name: string): Promise<void> {
  if (family === 'sqlite') return;
  const other = (await freshDatabase(t, family))!;
  const [databases, column] =
    family === 'postgres' ? ['pg_database', 'datname'] : ['information_schema.schemata', 'schema_name'];
  await other.ask(`drop database ${name}${family === 'postgres' ? ' with (force)' : ''}`);
  t.deepEqual(await other.ask(`select 1 from ${databases} where ${column} = '${name}'`), []);
}
