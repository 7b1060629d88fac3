import test from 'ava';
import { sql } from 'kysely';
import type { Migration, Registration } from '../../../foundation/data/database.ts';
import { freshDatabase } from '../../support/databases.ts';
import { open } from './fixtures/open.ts';

const registration = (owner: string, up: Migration['up']): Registration => ({
  owner,
  entities: [],
  migrations: [{ name: '001-initial', up }],
});

test('mysql: a constraint that was added, which was not noted, is not added again', async (t) => {
  const fresh = await freshDatabase(t, 'mysql');
  if (fresh === undefined) return;
  const database = await open(t, fresh);
  const constrained = registration('constraints', (schema, types) => [
    schema.createTable('levels').addColumn('n', types.integer),
    schema.alterTable('levels').addCheckConstraint('levels_positive', sql`n > 0`),
  ]);
  await database.register(constrained);
  await fresh.ask("update schema_migrations set statements = 1 where owner = 'constraints'");
  await t.notThrowsAsync(database.register(constrained));
});

test('mysql: a column that was renamed, which was not noted, is not renamed again', async (t) => {
  const fresh = await freshDatabase(t, 'mysql');
  if (fresh === undefined) return;
  const database = await open(t, fresh);
  const renaming = registration('renaming', (schema, types) => [
    schema.createTable('levels').addColumn('old', types.string(8)),
    schema.alterTable('levels').renameColumn('old', 'new'),
  ]);
  const crash = () => fresh.ask("update schema_migrations set statements = 1 where owner = 'renaming'");
  await database.register(renaming);
  await crash();
  await t.notThrowsAsync(database.register(renaming));
  await crash();
  await fresh.ask('alter table levels rename column new to other');
  await t.throwsAsync(database.register(renaming), { message: /failed at statement 2: Unknown column/ });
});

test('mysql: rows are written together with the note that they are, and so once', async (t) => {
  const fresh = await freshDatabase(t, 'mysql');
  if (fresh === undefined) return;
  const database = await open(t, fresh);
  // The journal is made with the first migration.
  await database.register(
    registration('first', (schema, types) => [schema.createTable('any').addColumn('n', types.integer)]),
  );
  const filled = registration('filling', (schema, types, queries) => [
    schema.createTable('levels').addColumn('name', types.string(8)),
    queries.insertInto('levels').values({ name: 'first' }),
    queries.updateTable('levels').set({ name: sql`concat(name, '!')` }),
  ]);
  for (const statements of [2, 3]) {
    // As if the process ended after the statement and before its note.
    const end = `signal sqlstate '45000' set message_text = 'ended'`;
    await fresh.ask(
      `create trigger ending before update on schema_migrations for each row if new.statements = ${statements} then ${end}; end if`,
    );
    await t.throwsAsync(database.register(filled), { message: /ended/ });
    await fresh.ask('drop trigger ending');
  }
  await database.register(filled);
  t.deepEqual(await fresh.ask('select name from levels'), [{ name: 'first!' }]);
});
