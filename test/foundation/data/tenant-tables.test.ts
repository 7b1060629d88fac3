import test from 'ava';
import type { Registration } from '../../../foundation/data/database.ts';
import { kernelRegistration } from '../../../foundation/gateway-tables.ts';
import { eachDatabase } from '../../support/databases.ts';
import { recordStatements } from '../../support/statements.ts';
import { Comment, Note, notes, Price, seed, TENANT_A, TENANT_B } from './fixtures/notes.ts';
import { open } from './fixtures/open.ts';

const never = new AbortController().signal;

/** More than one statement deletes. */
const MANY = 1_203;
const many = (prefix: string) =>
  Array.from({ length: MANY }, (_, index) => ({ id: `${prefix}-${index}`, slug: `${index}`, text: 'x' }));

eachDatabase(test, 'tables of tenants are known by those who never registered them', async (t, fresh) => {
  const first = await open(t, fresh);
  await first.register(kernelRegistration);
  const registration: Registration = {
    ...notes,
    entities: [Note, { entity: Comment, impersonal: 'for this test' }, { entity: Price, tenancy: 'shared' }],
  };
  await first.register(registration);
  await first.close();

  const second = await open(t, fresh);
  await second.register(kernelRegistration);
  t.deepEqual(await second.tenantTables.list(), [
    { name: 'api_keys', owner: 'kernel', isImpersonal: false },
    { name: 'audit_logs', owner: 'kernel', isImpersonal: false },
    { name: 'comments', owner: 'notes', isImpersonal: true },
    { name: 'notes', owner: 'notes', isImpersonal: false },
  ]);
});

eachDatabase(test, 'what an owner says of a table replaces what he said before', async (t, fresh) => {
  const database = await open(t, fresh);
  await database.register(notes);
  await database.register({
    ...notes,
    entities: [{ entity: Note, impersonal: 'it was a mistake' }, Comment],
  });
  const noted = await database.tenantTables.list();
  t.deepEqual(
    noted.map(({ name, isImpersonal }) => [name, isImpersonal]),
    [
      ['comments', false],
      ['notes', true],
    ],
  );
});

eachDatabase(
  test,
  'a shared table that names tenants is known, and nobody is asked for it',
  async (t, fresh) => {
    const database = await open(t, fresh);
    await database.register({ ...notes, entities: [Note, { entity: Comment, tenancy: 'shared' }] });
    t.deepEqual(await database.tenantTables.list(), [
      { name: 'comments', owner: 'notes', isImpersonal: true },
      { name: 'notes', owner: 'notes', isImpersonal: false },
    ]);
  },
);

eachDatabase(test, 'a table that was dropped is not listed any more', async (t, fresh) => {
  const database = await open(t, fresh);
  await database.register(notes);
  await fresh.ask('drop table comments');
  t.deepEqual(
    (await database.tenantTables.list()).map(({ name }) => name),
    ['notes'],
  );
});

eachDatabase(test, 'a table without the notes of an earlier build gets them', async (t, fresh) => {
  const first = await open(t, fresh);
  await first.register(notes);
  await fresh.ask('drop table schema_tenant_tables');
  const second = await open(t, fresh);
  await second.register(notes);
  t.is((await second.tenantTables.list()).length, 2);
  t.is(await second.schemaDrift(), '');
});

eachDatabase(test, 'a purge deletes all rows of its tenant and none of another', async (t, fresh) => {
  const database = await open(t, fresh);
  await database.register(notes);
  await seed(database);
  await database.forTenant(TENANT_A).insertMany(Note, many('a'));
  const { tenantTables } = database;
  t.true(await tenantTables.holds('notes', TENANT_A));
  t.is(await tenantTables.purge('notes', TENANT_A, never), MANY + 1);
  t.is(await tenantTables.purge('notes', TENANT_A, never), 0);
  t.false(await tenantTables.holds('notes', TENANT_A));
  t.is(await database.forTenant(TENANT_B).count(Note), 1);
  t.true(await tenantTables.holds('comments', TENANT_A));
});

eachDatabase(test, 'the tables that have rows of a tenant are found in one statement', async (t, fresh) => {
  const database = await open(t, fresh);
  await database.register(kernelRegistration);
  await database.register(notes);
  await database.forTenant(TENANT_A).insertMany(Note, many('a').slice(0, 3));
  const statements = recordStatements(database);
  const holding = await database.tenantTables.holding(TENANT_A);
  t.deepEqual(holding, [{ name: 'notes', owner: 'notes', isImpersonal: false }]);
  // What tables there are, which of them are noted, and which have rows.
  t.is(statements.take().length, 3);
  t.deepEqual(await database.tenantTables.holding(TENANT_B), []);
});

eachDatabase(test, 'a purge ends when its signal aborts, and goes on later', async (t, fresh) => {
  const database = await open(t, fresh);
  await database.register(notes);
  await database.forTenant(TENANT_A).insertMany(Note, many('a'));
  const aborted = AbortSignal.abort(new Error('enough'));
  await t.throwsAsync(database.tenantTables.purge('notes', TENANT_A, aborted), { message: 'enough' });
  t.is(await database.forTenant(TENANT_A).count(Note), MANY);
  t.is(await database.tenantTables.purge('notes', TENANT_A, never), MANY);
});

eachDatabase(
  test,
  'an erasure deletes what matches, whatever its number, in its transaction',
  async (t, fresh) => {
    const database = await open(t, fresh);
    await database.register(notes);
    await seed(database);
    const entities = database.forTenant(TENANT_A);
    await entities.insertMany(Note, many('a'));
    const undone = entities.transaction(async (inside) => {
      t.is(await inside.erase(Note, { text: 'x' }), MANY);
      t.is(await inside.count(Note), 1);
      throw new Error('undo');
    });
    await t.throwsAsync(undone, { message: 'undo' });
    t.is(await entities.count(Note), MANY + 1);
    t.is(await entities.erase(Note, { text: 'x' }), MANY);
    // An entity with a relation, which is not plain.
    t.is(await entities.erase(Comment, { text: 'a comment' }), 1);
    t.is(await entities.count(Comment), 0);
    t.is(await database.forTenant(TENANT_B).count(Note), 1);
    t.is(await database.forTenant(TENANT_B).count(Comment), 1);
  },
);

/** What waits on the server for a moment, inside a transaction. */
const MOMENT = { postgres: 'select pg_sleep(0.2)', mysql: 'select sleep(0.2)', sqlite: 'select 1' } as const;

eachDatabase(
  test,
  'an erasure deletes a row that another transaction changes at that moment',
  async (t, fresh) => {
    const database = await open(t, fresh);
    await database.register(notes);
    await seed(database);
    const entities = database.forTenant(TENANT_A);
    await entities.insertMany(Note, many('a').slice(0, 3));
    const changed = Promise.withResolvers<void>();
    const changing = database.transaction(async (em) => {
      await em.nativeUpdate(Note, { id: 'a-1' }, { views: 7 });
      changed.resolve();
      await em.execute(MOMENT[database.family]);
    });
    await changed.promise;
    t.is(await entities.erase(Note, { text: 'x' }), 3);
    await changing;
    t.is(await entities.count(Note), 1);
  },
);
