import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { type Database, openDatabase, type RowWrite, writes } from '../../../../foundation/data/database.ts';
import { isUniqueViolation } from '../../../../foundation/data/errors.ts';
import type { TenantSource } from '../../../../foundation/data/tenant-source.ts';
import { eachDatabase, type FreshDatabase } from '../../../support/databases.ts';
import { TENANT_A } from '../fixtures/notes.ts';
import { specimenChange, specimenRow } from '../fixtures/specimen-rows.ts';
import { Specimen, specimens } from '../fixtures/specimens.ts';

/** MikroORM's way beside the short way, which says whether it was taken. */
interface BothWays {
  readonly database: Database;
  /** How many rows were written; undefined where it was not taken. */
  readonly short: (write: RowWrite) => Promise<number> | undefined;
}

async function open(t: ExecutionContext, fresh: FreshDatabase): Promise<BothWays> {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(specimens);
  const source = database as unknown as TenantSource;
  const { plainRows } = source;
  const meta = source.metadata(Specimen) as Parameters<typeof plainRows.ready>[0];
  const short: BothWays['short'] = (write) => {
    const ready = plainRows.ready(meta, { tenantId: TENANT_A }, write);
    return ready && plainRows.run(ready, source.place(TENANT_A, undefined));
  };
  return { database, short };
}

const runs = (numRuns: number) => ({ numRuns, endOnFailure: true });

/** Rows as the database itself shows them; SQLite tells of which type each value is. */
async function stored({ database }: BothWays, first: string): Promise<Record<string, unknown>[]> {
  const em = database.system();
  const columns = em
    .getMetadata()
    .get(Specimen)
    .props.map(({ fieldNames }) => fieldNames[0] as string);
  const quoted = columns.map((column) => em.getPlatform().quoteIdentifier(column));
  const types = quoted.map((column, n) => `typeof(${column}) as type_${n}`);
  const shown = database.family === 'sqlite' ? [...quoted, ...types] : quoted;
  const rows = await em.execute<Record<string, unknown>[]>(
    `select ${shown.join(', ')} from specimens where id like '${first}%' order by id`,
  );
  return rows.map(({ id, ...row }) => row);
}

eachDatabase(test, 'the short way stores what MikroORM stores', async (t, fresh) => {
  const ways = await open(t, fresh);
  const { database, short } = ways;
  await fc.assert(
    fc.asyncProperty(fc.array(specimenRow, { minLength: 1, maxLength: 4 }), async (rows) => {
      await database.system().nativeDelete(Specimen, {});
      const named = (first: string) => rows.map((row, n) => ({ ...row, id: `${first}${n}` })) as never[];
      t.is(await short(writes.insert(Specimen, named('s'))), rows.length, 'taken');
      const bound = named('m').map((row: object) => ({ ...row, tenantId: TENANT_A }));
      await database.system().insertMany(Specimen, bound as never);
      t.deepEqual(await stored(ways, 's'), await stored(ways, 'm'));
    }),
    runs(fresh.family === 'sqlite' ? 300 : 80),
  );
});

eachDatabase(test, 'the short way changes what MikroORM changes', async (t, fresh) => {
  const ways = await open(t, fresh);
  const { database, short } = ways;
  await fc.assert(
    fc.asyncProperty(specimenRow, specimenChange, async (row, change) => {
      await database.system().nativeDelete(Specimen, {});
      for (const id of ['s', 'm']) await short(writes.insert(Specimen, [{ ...row, id } as never]));
      t.is(await short(writes.update(Specimen, { id: 's' }, change as never)), 1);
      t.is(await database.system().nativeUpdate(Specimen, { id: 'm' }, change as never), 1);
      t.deepEqual(await stored(ways, 's'), await stored(ways, 'm'));
    }),
    runs(fresh.family === 'sqlite' ? 200 : 60),
  );
});

eachDatabase(test, 'rows gives what find gives', async (t, fresh) => {
  const { database } = await open(t, fresh);
  await fc.assert(
    fc.asyncProperty(fc.array(specimenRow, { minLength: 1, maxLength: 4 }), async (rows) => {
      await database.system().nativeDelete(Specimen, {});
      const named = rows.map((row, n) => ({ ...row, id: `s${n}` }));
      await database.forTenant(TENANT_A).insertMany(Specimen, named as never);
      const found = await database.forTenant(TENANT_A).find(Specimen, {}, { orderBy: { id: 'asc' } });
      const read = await database
        .forTenant(TENANT_A)
        .rows(Specimen, {}, { orderBy: { id: 'asc' }, limit: rows.length });
      t.deepEqual(
        read,
        found.map((entity) => ({ ...entity })),
      );
    }),
    runs(fresh.family === 'sqlite' ? 200 : 60),
  );
});

const plain = {
  string: 'a',
  text: 'b',
  json: { c: [1] },
  time: new Date(0),
  boolean: true,
  integer: 1,
  bigint: 2,
  large: 3n,
  decimal: '4.5',
  double: 0.5,
  blob: Buffer.from('d'),
  choice: 'one' as const,
};

const whole = { ...plain, jsonOrNull: null };

/** What only MikroORM can write. */
const UNUSUAL: Readonly<Record<string, Record<string, unknown>>> = {
  'undefined inside JSON': { json: { a: undefined, b: [undefined] } },
  'a date inside JSON': { json: { at: new Date(0) } },
  'an object with a JSON form of its own': { jsonOrNull: { url: new URL('http://example.com/') } },
  'bytes that are no Buffer': { blob: new Uint8Array([1, 2]) },
};

eachDatabase(test, 'what the short way does not know goes through MikroORM', async (t, fresh) => {
  const ways = await open(t, fresh);
  const { database, short } = ways;
  for (const [title, values] of Object.entries(UNUSUAL)) {
    await database.system().nativeDelete(Specimen, {});
    const row = (id: string) => ({ ...plain, ...structuredCloneOf(values), id });
    t.is(await short(writes.insert(Specimen, [row('x') as never])), undefined, title);
    await database.forTenant(TENANT_A).insert(Specimen, row('s') as never);
    await database.system().insertMany(Specimen, [{ ...row('m'), tenantId: TENANT_A }] as never);
    t.deepEqual(await stored(ways, 's'), await stored(ways, 'm'), title);
    t.is((await stored(ways, 's')).length, 1, title);
  }
});

/** MikroORM changes what it is given. */
const structuredCloneOf = (values: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      Object.getPrototypeOf(value) === Object.prototype ? { ...(value as object) } : value,
    ]),
  );

eachDatabase(test, 'a number that no database has is refused', async (t, fresh) => {
  const { database } = await open(t, fresh);
  const a = database.forTenant(TENANT_A);
  await t.throwsAsync(a.insert(Specimen, { ...whole, id: 's', double: Number.NaN }));
  await a.insert(Specimen, { ...whole, id: 's' });
  await t.throwsAsync(a.update(Specimen, { id: 's' }, { double: Number.POSITIVE_INFINITY }));
  t.is((await a.rows(Specimen, {}, { limit: 2 }))[0]?.double, plain.double);
});

eachDatabase(
  test,
  'a taken key is a unique violation, and undoes the rows of its statement',
  async (t, fresh) => {
    const { database } = await open(t, fresh);
    const a = database.forTenant(TENANT_A);
    await a.insert(Specimen, { ...whole, id: 's1' });
    const error = await t.throwsAsync(
      a.insertMany(Specimen, [
        { ...whole, id: 's0' },
        { ...whole, id: 's1' },
      ]),
    );
    t.true(isUniqueViolation(error));
    t.is(await a.count(Specimen), 1);
  },
);
