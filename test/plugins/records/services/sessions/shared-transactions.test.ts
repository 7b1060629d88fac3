import test from 'ava';
import { DatabaseErrors, type TenantEntityManager } from '../../../../../kernel/index.ts';
import { createSharedTransactions } from '../../../../../plugins/records/services/sessions/shared-transactions.ts';

/** A database that notes its transactions: which works were in each, and whether it was committed. */
function notedDatabase(family: 'sqlite' | 'postgres') {
  const transactions: { tenantId: string; works: string[]; isCommitted: boolean }[] = [];
  const forTenant = (tenantId: string) => ({
    async transaction(work: (entities: TenantEntityManager) => Promise<void>) {
      const noted = { tenantId, works: [] as string[], isCommitted: false };
      transactions.push(noted);
      await work(noted as never);
      noted.isCommitted = true;
    },
  });
  return { transactions, database: { family, forTenant } as never };
}

/** A work that notes its name, and fails where it is told to. */
const work = (name: string, failure?: Error) => async (entities: unknown) => {
  (entities as { works: string[] }).works.push(name);
  if (failure !== undefined) throw failure;
};

test('on SQLite what is ready at the same time is committed together, by tenant', async (t) => {
  const { database, transactions } = notedDatabase('sqlite');
  const shared = createSharedTransactions(database);
  await Promise.all([shared.run('a', work('1')), shared.run('b', work('2')), shared.run('a', work('3'))]);
  t.deepEqual(transactions, [
    { tenantId: 'a', works: ['1', '3'], isCommitted: true },
    { tenantId: 'b', works: ['2'], isCommitted: true },
  ]);
});

test('a work that fails is alone with its failure', async (t) => {
  const { database, transactions } = notedDatabase('sqlite');
  const shared = createSharedTransactions(database);
  const failure = new Error('conflict');
  const results = await Promise.allSettled([
    shared.run('a', work('1')),
    shared.run('a', work('2', failure)),
    shared.run('a', work('3')),
  ]);
  t.deepEqual(
    results.map((result) => (result.status === 'rejected' ? result.reason : result.status)),
    ['fulfilled', failure, 'fulfilled'],
  );
  t.deepEqual(
    transactions.map(({ works, isCommitted }) => [works.join(), isCommitted]),
    [
      ['1,2', false],
      ['1', true],
      ['2', false],
      ['3', true],
    ],
  );
});

test('a database that is away is waited for once, and not by each', async (t) => {
  const { database, transactions } = notedDatabase('sqlite');
  const shared = createSharedTransactions(database);
  const away = DatabaseErrors.unavailable();
  const results = await Promise.allSettled([shared.run('a', work('1', away)), shared.run('a', work('2'))]);
  t.deepEqual(
    results.map((result) => result.status === 'rejected' && result.reason),
    [away, away],
  );
  t.is(transactions.length, 1);
});

test('a transaction is shared by 32 at most', async (t) => {
  const { database, transactions } = notedDatabase('sqlite');
  const shared = createSharedTransactions(database);
  await Promise.all(Array.from({ length: 70 }, (_, index) => shared.run('a', work(`${index}`))));
  t.deepEqual(
    transactions.map(({ works }) => works.length),
    [32, 32, 6],
  );
});

test('on a server each work has a transaction of its own', async (t) => {
  const { database, transactions } = notedDatabase('postgres');
  const shared = createSharedTransactions(database);
  await Promise.all([shared.run('a', work('1')), shared.run('a', work('2'))]);
  t.deepEqual(
    transactions.map(({ works }) => works),
    [['1'], ['2']],
  );
});
