import test from 'ava';
import { openDatabase, type Registration } from '../../../foundation/data/database.ts';
import { AgentCheckpoint } from '../../../plugins/agent-engine/store/checkpoints.ts';
import { entities as engineEntities } from '../../../plugins/agent-engine/store/entities.ts';
import { migrations as engineMigrations } from '../../../plugins/agent-engine/store/migrations.ts';
import { SandboxPolicyRow } from '../../../plugins/agent-engine/store/sandbox-policy-row.ts';
import { entities } from '../../../plugins/records/store/entities.ts';
import { ProfileEntity } from '../../../plugins/records/store/memories.ts';
import { migrations } from '../../../plugins/records/store/migrations.ts';
import { eachDatabase } from '../../support/databases.ts';

const TENANT = '01900000-0000-7000-8000-000000000001';

const engine: Registration = {
  owner: 'agent-engine',
  entities: engineEntities,
  migrations: engineMigrations,
};
const records: Registration = { owner: 'records', entities, migrations };

/** What agent-engine registered while it kept the records, too. */
const before: Registration = {
  owner: 'agent-engine',
  // Those that still have the form of then.
  entities: [ProfileEntity, SandboxPolicyRow, AgentCheckpoint],
  migrations: engineMigrations.map((one) => {
    if (!('movedTo' in one)) return one;
    const { up, name } = migrations.find((moved) => moved.name === one.name)!;
    return { name, up };
  }),
};

eachDatabase(
  test,
  'a database of the version before keeps its rows, and replicas of both versions start with it',
  async (t, fresh) => {
    const old = await openDatabase(fresh.options);
    t.teardown(() => old.close());
    await old.register(before);
    const profile = { id: TENANT, userId: 'ana', text: '"tea"', updatedAt: new Date() };
    await old.forTenant(TENANT).insert(ProfileEntity, profile);

    const database = await openDatabase(fresh.options);
    t.teardown(() => database.close());
    await database.register(records);
    await database.register(engine);
    t.is(await database.forTenant(TENANT).count(ProfileEntity, { userId: 'ana' }), 1);
    t.is(await database.schemaDrift(), '');

    const restarted = await openDatabase(fresh.options);
    t.teardown(() => restarted.close());
    await restarted.register(before);
    t.is(await restarted.forTenant(TENANT).count(ProfileEntity), 1);
  },
);

eachDatabase(test, 'an empty database gets every table once', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(records);
  await database.register(engine);
  t.is(await database.schemaDrift(), '');
});
