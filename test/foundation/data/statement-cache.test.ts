import test from 'ava';
import { keepStatements, type PreparingDatabase } from '../../../foundation/data/drivers/statement-cache.ts';

function fakeDatabase() {
  const prepared: string[] = [];
  const database: PreparingDatabase = {
    inTransaction: false,
    prepare: (sql) => {
      prepared.push(sql);
      return { busy: sql.includes('busy'), run: () => ({ changes: 0 }) };
    },
  };
  const prepareWrite = keepStatements(database);
  return { database, prepareWrite, prepared };
}

test('a statement is prepared once', (t) => {
  const { database, prepared } = fakeDatabase();
  t.is(database.prepare('select 1'), database.prepare('select 1'));
  t.deepEqual(prepared, ['select 1']);
});

test('a statement that is stepped through is not given out twice', (t) => {
  const { database, prepared } = fakeDatabase();
  t.not(database.prepare('select busy'), database.prepare('select busy'));
  t.is(prepared.length, 2);
});

test('a statement without rows is found without a look at whether it is busy, and by all who prepare it', (t) => {
  const { database, prepareWrite, prepared } = fakeDatabase();
  t.is(prepareWrite('delete busy'), prepareWrite('delete busy'));
  t.is(prepareWrite('delete 1'), database.prepare('delete 1'));
  t.deepEqual(prepared, ['delete busy', 'delete 1']);
});

test('a change of the schema forgets what was prepared before', (t) => {
  const { database, prepared } = fakeDatabase();
  database.prepare('select * from a');
  database.prepare(' ALTER TABLE a ADD COLUMN b');
  database.prepare('select * from a');
  t.is(prepared.length, 3);
});

test('what is kept is bounded by the length of its SQL', (t) => {
  const { database, prepared } = fakeDatabase();
  const long = (n: number) => `select ${n} ${'x'.repeat(400_000)}`;
  for (const n of [1, 2, 3, 1]) database.prepare(long(n));
  t.is(prepared.length, 4);
});
