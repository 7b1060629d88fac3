import type { FilterQuery } from '@mikro-orm/core';
import test from 'ava';
import { openDatabase } from '../../../../foundation/data/database.ts';
import type { PlainWhere } from '../../../../foundation/data/rows/conditions.ts';
import { eachDatabase } from '../../../support/databases.ts';
import { TENANT_A, TENANT_B } from '../fixtures/notes.ts';
import { Specimen, type SpecimenRow, specimens } from '../fixtures/specimens.ts';

const at = (day: number) => new Date(Date.UTC(2024, 0, day));

const specimen = (n: number, more: Partial<SpecimenRow> = {}) => ({
  id: `s${n}`,
  string: `name ${n}`,
  text: `text ${n}`,
  json: {},
  time: at(n),
  boolean: n % 2 === 0,
  integer: n,
  bigint: n * 10_000_000_000,
  large: BigInt(n),
  decimal: `${n}.500000`,
  double: n / 2,
  blob: Buffer.from([n]),
  choice: n % 2 === 0 ? ('one' as const) : ('two' as const),
  jsonOrNull: null,
  ...more,
});

/** Conditions, and the specimens 1 to 4 (of which 1 and 2 have a `stringOrNull`, `'x'` and `'y'`) that meet them. */
const CASES: readonly (readonly [where: PlainWhere<SpecimenRow>, ids: readonly number[]])[] = [
  [{}, [1, 2, 3, 4]],
  [{ id: 's3' }, [3]],
  [{ string: 'name 1', integer: 1 }, [1]],
  [{ string: 'name 1', integer: 2 }, []],
  [{ string: `' or 1 = 1 --` }, []],
  [{ stringOrNull: null }, [3, 4]],
  [{ stringOrNull: { $ne: null } }, [1, 2]],
  [{ stringOrNull: { $ne: 'x' } }, [2]],
  [{ integer: { $gt: 1, $lte: 3 } }, [2, 3]],
  [{ integer: { $gte: 2, $lt: 3, $ne: 5 } }, [2]],
  [{ id: { $in: ['s1', 's4', 'other'] } }, [1, 4]],
  [{ id: { $in: [] } }, []],
  [{ time: at(2) }, [2]],
  [{ time: { $gte: at(3) } }, [3, 4]],
  [{ boolean: true }, [2, 4]],
  [{ boolean: false, integer: { $gt: 1 } }, [3]],
  [{ bigint: { $gt: 20_000_000_000 } }, [3, 4]],
  [{ large: 4n }, [4]],
  [{ decimal: '2.5' }, [2]],
  [{ decimal: { $lt: '10' } }, [1, 2, 3, 4]],
  [{ double: { $in: [0.5, 1] } }, [1, 2]],
  [{ choice: 'two' }, [1, 3]],
  [{ text: 'text 4' }, [4]],
];

eachDatabase(test, 'rows and update find by simple conditions what find finds', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(specimens);
  const a = database.forTenant(TENANT_A);
  const extra = [{}, { stringOrNull: 'x' }, { stringOrNull: 'y' }];
  await a.insertMany(
    Specimen,
    [1, 2, 3, 4].map((n) => specimen(n, extra[n])),
  );
  await database.forTenant(TENANT_B).insert(Specimen, specimen(5, { string: 'name 1' }));
  for (const [where, numbers] of CASES) {
    const title = JSON.stringify(where, (_, value) => (typeof value === 'bigint' ? `${value}n` : value));
    const ids = numbers.map((n) => `s${n}`);
    const read = await a.rows(Specimen, where, { fields: ['id'], orderBy: { id: 'asc' }, limit: 9 });
    t.deepEqual(
      read,
      ids.map((id) => ({ id })),
      title,
    );
    const filter = where as FilterQuery<SpecimenRow>;
    const found = await database.forTenant(TENANT_A).find(Specimen, filter, { orderBy: { id: 'asc' } });
    t.deepEqual(
      found.map(({ id }) => id),
      ids,
      title,
    );
    t.is(await a.update(Specimen, filter, { integerWithDefault: 1 }), ids.length, title);
  }
});

eachDatabase(test, 'rows come in order, from an offset, and no more than the limit', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(specimens);
  const a = database.forTenant(TENANT_A);
  await a.insertMany(
    Specimen,
    [1, 2, 3, 4].map((n) => specimen(n)),
  );
  const orderBy = { boolean: 'desc', integer: 'asc' } as const;
  const ids = async (limit: number, offset?: number) =>
    (await a.rows(Specimen, {}, { fields: ['id'], orderBy, limit, offset })).map(({ id }) => id);
  t.deepEqual(await ids(9), ['s2', 's4', 's1', 's3']);
  t.deepEqual(await ids(2, 1), ['s4', 's1']);
  t.deepEqual(await ids(0), []);
  for (const wrong of [-1, 0.5, Number.NaN]) {
    await t.throwsAsync(ids(wrong), { message: /limit of rows/ });
    await t.throwsAsync(ids(1, wrong), { message: /offset of rows/ });
  }
});

eachDatabase(test, 'pages far behind are parts of the same order', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(specimens);
  const a = database.forTenant(TENANT_A);
  const rows = Array.from({ length: 600 }, (_, n) => specimen(n % 200, { id: `a${n}`, integer: n % 7 }));
  await a.insertMany(Specimen, rows);
  await database.forTenant(TENANT_B).insertMany(
    Specimen,
    rows.map(({ id, ...row }) => ({ ...row, id: `b${id}` })),
  );
  const orderBy = { integer: 'desc', id: 'asc' } as const;
  const where = { integer: { $lt: 6 } };
  const all = await a.rows(Specimen, where, { orderBy, limit: 600 });
  t.is(all.length, 515);
  for (const offset of [0, 499, 500, 501, 513, 514, 515, 10_000]) {
    const [page, total] = await a.page(Specimen, where, { orderBy, limit: 10, offset });
    t.deepEqual(page, all.slice(offset, offset + 10), `from ${offset} on`);
    t.is(total, 515);
    const fields = ['string', 'time'] as const;
    const parts = await a.rows(Specimen, where, { orderBy, limit: 10, offset, fields });
    t.deepEqual(
      parts,
      page.map(({ string, time }) => ({ string, time })),
      `columns of rows from ${offset} on`,
    );
    t.is((await a.rows(Specimen, where, { limit: 10, offset })).length, page.length, 'in any order');
  }
});
