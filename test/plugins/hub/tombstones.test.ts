import test from 'ava';
import { openDatabase } from '../../../foundation/data/database.ts';
import hub from '../../../plugins/hub/plugin.ts';
import { createTombstones } from '../../../plugins/hub/services/tombstones.ts';
import { createGeneStore, type Tombstone } from '../../../plugins/hub/store/genes.ts';
import { GeneTable } from '../../../plugins/hub/store/tables.ts';
import { eachDatabase } from '../../support/databases.ts';
import { planProblems } from '../../support/query-plans.ts';
import { recordStatements } from '../../support/statements.ts';

test('a search knows of what was revoked before it, also while another one reads', async (t) => {
  const stored: Tombstone[] = [];
  const { promise: read, resolve } = Promise.withResolvers<void>();
  const store = {
    async *tombstonesSince() {
      const rows = [...stored];
      await read;
      yield rows;
    },
  };
  const tombstones = createTombstones(store, { now: () => 0 });
  const first = tombstones.refresh();
  await new Promise(setImmediate);
  stored.push({ nodeId: 'node', geneId: 'gene', wasPromoted: false, updatedAt: new Date(0) });
  const second = tombstones.refresh();
  resolve();
  await Promise.all([first, second]);
  t.true(tombstones.cover('node', 'gene'));
});

eachDatabase(test, 'a search reads tombstones alone, however many genes are promoted', async (t, fresh) => {
  const database = await openDatabase({ ...fresh.options });
  t.teardown(() => database.close());
  const { entities = [], migrations = [] } = hub;
  await database.register({ owner: hub.name, entities, migrations });
  const gene = (n: number, state: 'promoted' | 'revoked') => ({
    id: `${n}`.padStart(64, '0'),
    nodeId: 'node',
    geneId: `gene-${n}`,
    content: `${n}`.padStart(64, '0'),
    gene: {} as never,
    state,
    wasPromoted: true,
    promotedWith: 0.9,
    updatedAt: new Date(1_700_000_000_000 + n),
  });
  const genes = Array.from({ length: 5_000 }, (_, n) => gene(n, n === 7 ? 'revoked' : 'promoted'));
  await database.system().insertMany(GeneTable, genes);
  if (fresh.family !== 'sqlite')
    await fresh.ask(fresh.family === 'postgres' ? 'analyze' : 'analyze table hub_genes');
  const record = recordStatements(database);
  const found: string[] = [];
  for await (const page of createGeneStore(database).tombstonesSince(new Date(0)))
    found.push(...page.map(({ geneId }) => geneId));
  t.deepEqual(found, ['gene-7']);
  const statements = record.take();
  t.is(statements.length, 1);
  const limits = { tables: ['hub_genes'], rows: 100, selective: [] };
  t.deepEqual(await planProblems(fresh.family, record, statements[0]!, limits), []);
});
