import test from 'ava';
import { askDatabase, createDatabase } from '../../testing/fresh-database.ts';
import { available } from '../support/services.ts';

const SERVERS = [
  ['postgres', 'postgres://root@127.0.0.1:5432/postgres', 'select datname as name from pg_database'],
  ['mariadb', 'mysql://root@127.0.0.1:3306/mysql', 'show databases'],
] as const;
for (const [service, server, list] of SERVERS) {
  test(`${service}: what a killed process left is dropped after a day, and no other`, async (t) => {
    if (!(await available(t, service))) return;
    const nameOf = (hours: number) =>
      `gateway_test_${(Date.now() - hours * 3_600_000).toString(16).padStart(12, '0')}_${'5ee0'.repeat(4)}`;
    const [left, young] = [nameOf(25), nameOf(23)];
    // Where the pool of databases keeps copies of rows on MariaDB.
    const beside = `${left}_kept`;
    for (const name of [left, beside, young]) await askDatabase(server, `create database ${name}`);
    const { drop } = await createDatabase(server);
    const rows = await askDatabase(server, list);
    const names = new Set(rows.map((row) => Object.values(row)[0]));
    const kept = [left, beside, young].filter((name) => names.has(name));
    for (const name of kept) await askDatabase(server, `drop database ${name}`);
    await drop();
    t.deepEqual(kept, [young]);
  });
}
