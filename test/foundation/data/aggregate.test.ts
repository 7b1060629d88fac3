import test from 'ava';
import { openDatabase } from '../../../foundation/data/database.ts';
import { eachDatabase } from '../../support/databases.ts';
import { TENANT_A } from './fixtures/notes.ts';
import { Specimen, specimens } from './fixtures/specimens.ts';

const specimen = {
  id: 's',
  string: 'a',
  text: 'b',
  json: {},
  time: new Date('2030-01-31T12:00:00.123Z'),
  boolean: false,
  integer: 1,
  bigint: 2 ** 40,
  large: 2n ** 60n,
  decimal: '1.25',
  double: 0.5,
  blob: Buffer.of(1, 2),
  choice: 'one',
  jsonOrNull: null,
  booleanOrNull: true,
} as const;

eachDatabase(test, 'the values of a group are those that a row has', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(specimens);
  const entities = database.forTenant(TENANT_A);
  await entities.insert(Specimen, specimen);
  const by = [
    'string',
    'time',
    'boolean',
    'integer',
    'bigint',
    'large',
    'decimal',
    'double',
    'blob',
    'choice',
    'timeOrNull',
    'booleanOrNull',
    'bigintOrNull',
  ] as const;
  const [row] = await entities.rows(Specimen, {}, { fields: by, limit: 1 });
  const sums = { count: 1, integerWithDefault: 7 };
  t.deepEqual(await entities.aggregate(Specimen, { where: {}, by, sum: ['integerWithDefault'] }), [
    { ...row, ...sums } as never,
  ]);
  t.like(row, { time: specimen.time, boolean: false, booleanOrNull: true, timeOrNull: null });
});
