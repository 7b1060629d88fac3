import test from 'ava';
import fc from 'fast-check';
import { holdsText, SEARCHED_RECORDS } from '../../../../foundation/base/text-search.ts';
import { type Database, openDatabase } from '../../../../foundation/data/database.ts';
import { eachDatabase, type FreshDatabase } from '../../../support/databases.ts';
import { Note, notes, TENANT_A, TENANT_B } from '../fixtures/notes.ts';

/** Texts in which everything that a pattern, a literal or another alphabet could give a meaning is frequent. */
const character = fc.constantFrom(
  ...'aAbBzZkKiIsS%_\\\'"*?[]().^$|{}-+ \n\tß',
  'ä',
  'Ä',
  'İ',
  'ı',
  '\u212a',
  'ſ',
  'é',
  'É',
  '中',
  '🙂',
);
const text = (bounds: { minLength?: number; maxLength: number }) => fc.string({ unit: character, ...bounds });

/** What A to Z means here, said a second time and apart from the code under test. */
const inPlainJavaScript = (values: readonly string[], wanted: string) => {
  const lower = (value: string) => [...value].map((c) => (/^[A-Z]$/.test(c) ? c.toLowerCase() : c)).join('');
  return values.some((value) => lower(value).includes(lower(wanted)));
};

async function open(fresh: FreshDatabase, teardown: (end: () => Promise<void>) => void): Promise<Database> {
  const database = await openDatabase(fresh.options);
  teardown(() => database.close());
  await database.register(notes);
  return database;
}

const byId = { orderBy: { id: 'asc' } } as const;

eachDatabase(test, 'a search finds what a filter in plain JavaScript finds', async (t, fresh) => {
  const database = await open(fresh, t.teardown);
  const entities = database.forTenant(TENANT_A);
  const note = fc.record({ slug: text({ maxLength: 12 }), text: text({ maxLength: 30 }), views: fc.nat(2) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(note, { minLength: 1, maxLength: 20 }),
      fc.array(text({ minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 6 }),
      fc.nat(5),
      fc.nat(5),
      async (drawn, wanted, limit, offset) => {
        const rows = drawn.map((row, n) => ({
          ...row,
          id: `n${String(n).padStart(2, '0')}`,
          slug: `${n} ${row.slug}`,
        }));
        await database.system().nativeDelete(Note, {});
        await entities.insertMany(Note, rows);
        // Parts of what is there, so that much is found.
        const parts = rows
          .map((row) => row.text.slice(2, 4))
          .filter((part) => part.isWellFormed() && part !== '');
        for (const one of [...wanted, ...parts.slice(0, 4)]) {
          const search = { text: one, in: ['slug', 'text'] } as const;
          const [found, total] = await entities.page(
            Note,
            { views: { $gt: 0 } },
            { ...byId, search, limit, offset },
          );
          const expected = rows.filter(
            (row) => row.views > 0 && inPlainJavaScript([row.slug, row.text], one),
          );
          t.deepEqual(
            found.map(({ id }) => id),
            expected.slice(offset, offset + limit).map(({ id }) => id),
            JSON.stringify(one),
          );
          t.is(total, expected.length, JSON.stringify(one));
          t.is(holdsText([rows[0]?.text ?? ''], one), inPlainJavaScript([rows[0]?.text ?? ''], one));
        }
      },
    ),
    { numRuns: fresh.family === 'sqlite' ? 60 : 25, endOnFailure: true },
  );
});

eachDatabase(
  test,
  'a search of a tenant finds nothing of another one, that of all tenants does',
  async (t, fresh) => {
    const database = await open(fresh, t.teardown);
    for (const [tenant, id] of [
      [TENANT_A, 'a'],
      [TENANT_B, 'b'],
    ] as const) {
      await database.forTenant(tenant).insert(Note, { id, slug: id, text: 'Needle' });
    }
    const query = { ...byId, limit: 10, search: { text: 'need', in: ['text'] } } as const;
    const [found, total] = await database.forTenant(TENANT_A).page(Note, {}, query);
    t.deepEqual([found.map(({ id }) => id), total], [['a'], 1]);
    const [foreign] = await database.forTenant(TENANT_A).page(Note, { tenantId: TENANT_B }, query);
    t.deepEqual(foreign, []);
    const [all, ofAll] = await database.pageOfAll(Note, {}, query);
    t.deepEqual([all.map(({ id }) => id), ofAll], [['a', 'b'], 2]);
  },
);

eachDatabase(
  test,
  'a search looks at the first 10,000 rows that the other conditions let through, and at no more',
  async (t, fresh) => {
    const database = await open(fresh, t.teardown);
    const entities = database.forTenant(TENANT_A);
    const id = (n: number) => `n${String(n).padStart(5, '0')}`;
    const rows = Array.from({ length: SEARCHED_RECORDS + 2 }, (_, n) => ({
      id: id(n),
      slug: id(n),
      text: n >= SEARCHED_RECORDS - 1 ? 'needle' : 'hay',
      views: n === 0 ? 1 : 0,
    }));
    for (let start = 0; start < rows.length; start += 1_000)
      await entities.insertMany(Note, rows.slice(start, start + 1_000));
    const query = { ...byId, limit: 10, search: { text: 'NEEDLE', in: ['text'] } } as const;
    const [all, total] = await entities.page(Note, {}, query);
    t.deepEqual([all.map((row) => row.id), total], [[id(SEARCHED_RECORDS - 1)], 1]);
    const [others, ofOthers] = await entities.page(Note, { views: 0 }, query);
    t.deepEqual(
      [others.map((row) => row.id), ofOthers],
      [[id(SEARCHED_RECORDS - 1), id(SEARCHED_RECORDS)], 2],
    );
    const [, unbounded] = await entities.page(Note, {}, { ...byId, limit: 0 });
    t.is(unbounded, SEARCHED_RECORDS + 2);
  },
);

eachDatabase(test, 'a search without a text, an order or a property of text is refused', async (t, fresh) => {
  const entities = (await open(fresh, t.teardown)).forTenant(TENANT_A);
  const whole = { ...byId, limit: 1, search: { text: 'a', in: ['text'] } } as const;
  const refused = { name: 'DatabaseDefect' };
  await t.throwsAsync(entities.page(Note, {}, { ...whole, search: { text: '', in: ['text'] } }), refused);
  await t.throwsAsync(entities.page(Note, {}, { ...whole, search: { text: 'a', in: [] } }), refused);
  await t.throwsAsync(
    entities.page(Note, {}, { ...whole, search: { text: 'a', in: ['other' as 'text'] } }),
    refused,
  );
  await t.throwsAsync(
    entities.page(Note, {}, { ...whole, search: { text: '1', in: ['text', 'views'] } }),
    refused,
  );
  await t.throwsAsync(entities.page(Note, {}, { limit: 1, search: whole.search }), refused);
  await t.notThrowsAsync(entities.page(Note, {}, whole));
});
