import test from 'ava';
import { retention } from '../../../../plugins/records/store/migrations.ts';
import { findRulesOf, RetentionRuleRow } from '../../../../plugins/records/store/retention.ts';
import { eachDatabase } from '../../../support/databases.ts';
import { engineTables } from '../../agent-engine/engine-tables.ts';

/** More than are read at one time. */
const TENANTS = 1_003;

eachDatabase(test, 'the rules of all tenants are found, however many there are', async (t, fresh) => {
  const { database } = await engineTables(t, fresh, {
    entities: [RetentionRuleRow],
    migrations: [retention],
  });
  const deletesFrom = new Date(0);
  const ids = Array.from(
    { length: TENANTS },
    (_, n) => `0190f000-0000-7000-8000-${String(n).padStart(12, '0')}`,
  );
  const rules = ids.map((tenantId, n) => ({ tenantId, kind: 'sessions', keepMs: n, deletesFrom }));
  const others = ids.map((tenantId) => ({ tenantId, kind: 'files', keepMs: null, deletesFrom }));
  await database.system().insertMany(RetentionRuleRow, [...rules, ...others]);

  const found = await findRulesOf(database, 'sessions');
  t.is(found.size, TENANTS);
  t.deepEqual(
    ids.map((id) => found.get(id)?.keepMs),
    ids.keys().toArray(),
  );
  t.is((await findRulesOf(database, 'none')).size, 0);
});
