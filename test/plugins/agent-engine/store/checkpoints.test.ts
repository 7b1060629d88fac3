import test, { type ExecutionContext } from 'ava';
import { systemClock } from '../../../../foundation/base/clock.ts';
import { createIds } from '../../../../foundation/base/ids.ts';
import { openDatabase, type RowWrite } from '../../../../foundation/data/database.ts';
import { kernelRegistration } from '../../../../foundation/gateway-tables.ts';
import type { Checkpoint } from '../../../../plugins/agent-engine/contract.ts';
import {
  AgentCheckpoint,
  createCheckpoints,
  forgetCheckpoints,
  MAX_CHECKPOINT,
} from '../../../../plugins/agent-engine/store/checkpoints.ts';
import { checkpointLists, checkpoints as table } from '../../../../plugins/agent-engine/store/migrations.ts';
import type { SessionReader } from '../../../../plugins/records/contract.ts';
import { eachDatabase, type FreshDatabase } from '../../../support/databases.ts';

const ids = createIds(systemClock);
const TENANT = '00000000-0000-7000-8000-00000000000a';
const ANN = { tenantId: TENANT, identityId: 'key-1', userId: 'ann' };
const place = { sessionId: 's1', agent: 'payer' };

function checkpoint(state: unknown = {}): Checkpoint {
  return { id: ids.uuid(), agent: 'payer', interrupts: [], state };
}

async function open(t: ExecutionContext, fresh: FreshDatabase) {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(kernelRegistration);
  await database.register({
    owner: 'agent-engine',
    entities: [AgentCheckpoint],
    migrations: [table, checkpointLists],
  });
  const entities = () => database.forTenant(TENANT);
  const { save, take, find, list } = createCheckpoints({ clock: systemClock, ids });
  const together = (...writes: RowWrite[]) => entities().writeTogether(writes);
  const checkpoints = {
    find,
    list,
    save: (where: typeof place, kept: Checkpoint, principal = ANN) =>
      together(save({ ...where, principal, checkpoint: kept })),
    take: (checkpointId: string) => together(take({ ...place, checkpointId })),
    replace: (old: Checkpoint, kept: Checkpoint) =>
      together(
        take({ ...place, checkpointId: old.id }),
        save({ ...place, principal: ANN, checkpoint: kept }),
      ),
  };
  return { database, entities, checkpoints };
}

eachDatabase(test, 'a checkpoint comes back as it was, whatever is in it', async (t, fresh) => {
  const { database, entities, checkpoints } = await open(t, fresh);
  t.is(await database.schemaDrift(), '');
  const kept = checkpoint({ text: 'nul \u0000, half \ud800, 😀 \\u0000', n: [1, null, true] });
  await checkpoints.save(place, kept);
  const found = await checkpoints.find(entities(), place);
  t.deepEqual(found?.checkpoint, kept);
  t.is(found?.sessionId, 's1');
  t.true(Math.abs(systemClock.now() - found!.createdAt.getTime()) < 60_000);
  t.is(await checkpoints.find(entities(), { ...place, agent: '' }), undefined);
  t.is(await checkpoints.find(database.forTenant('other'), place), undefined);
});

eachDatabase(test, 'a new pause takes the place of the one before', async (t, fresh) => {
  const { entities, checkpoints } = await open(t, fresh);
  const [first, second] = [checkpoint('first'), checkpoint('second')];
  await checkpoints.save(place, first);
  t.true(await checkpoints.replace(first, second));
  t.deepEqual((await checkpoints.find(entities(), place))?.checkpoint, second);
  t.false(await checkpoints.replace(first, checkpoint('third')), 'it was replaced before');
  t.false(await checkpoints.take(first.id));
  t.true(await checkpoints.take(second.id));
  t.is(await checkpoints.find(entities(), place), undefined);
});

eachDatabase(test, 'of many who take a checkpoint at once, one gets it', async (t, fresh) => {
  const { checkpoints } = await open(t, fresh);
  for (let round = 0; round < 3; round += 1) {
    const kept = checkpoint();
    await checkpoints.save(place, kept);
    const takers = Array.from({ length: 8 }, () => checkpoints.take(kept.id));
    t.is((await Promise.all(takers)).filter(Boolean).length, 1);
  }
});

eachDatabase(test, 'what waits is listed newest first, to whom it may be shown', async (t, fresh) => {
  const { entities, checkpoints } = await open(t, fresh);
  const interrupts = [{ id: 'i', type: 'approval', agentPath: ['payer'], reason: 'r', fields: [] }] as const;
  for (const userId of ['ann', 'ben']) {
    const kept = { ...checkpoint('x'), interrupts };
    await checkpoints.save({ ...place, sessionId: userId }, kept, { ...ANN, userId });
  }
  const sessions = async (reader: Partial<SessionReader>) => {
    const all = { identityId: 'key-1', isAdmin: false, ...reader };
    const { open: shown, total } = await checkpoints.list(entities(), all, { limit: 10, offset: 0 });
    t.is(total, shown.length);
    for (const one of shown) t.deepEqual(one.interrupts, interrupts);
    return shown.map(({ sessionId }) => sessionId).join();
  };
  t.is(await sessions({}), 'ben,ann');
  t.is(await sessions({ userId: 'ann' }), 'ann');
  t.is(await sessions({ identityId: 'key-2' }), '');
  t.is(await sessions({ identityId: 'key-2', isAdmin: true }), 'ben,ann');
});

eachDatabase(test, 'a session is forgotten with all its agents, and no other', async (t, fresh) => {
  const { entities, checkpoints } = await open(t, fresh);
  for (const sessionId of ['s1', 's2'])
    for (const agent of ['', 'payer']) await checkpoints.save({ sessionId, agent }, checkpoint());
  t.is(await forgetCheckpoints(entities(), 's1'), 2);
  t.is(await checkpoints.find(entities(), place), undefined);
  t.not(await checkpoints.find(entities(), { sessionId: 's2', agent: '' }), undefined);
});

eachDatabase(test, 'a checkpoint above 1 MiB is refused, one below is kept', async (t, fresh) => {
  const { checkpoints } = await open(t, fresh);
  await checkpoints.save(place, checkpoint('x'.repeat(MAX_CHECKPOINT - 200)));
  const error = t.throws(() => checkpoints.save(place, checkpoint('x'.repeat(MAX_CHECKPOINT))));
  t.like(error, { code: 'agent.checkpoint-too-large' });
});
