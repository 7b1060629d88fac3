import test, { type ExecutionContext } from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { createIds } from '../../../../../foundation/base/ids.ts';
import { openDatabase } from '../../../../../foundation/data/database.ts';
import { kernelRegistration } from '../../../../../foundation/gateway-tables.ts';
import type { Checkpoint } from '../../../../../plugins/agent-engine/contract.ts';
import { checkpoints as migration } from '../../../../../plugins/agent-engine/store/checkpoints/007-checkpoints.ts';
import {
  AgentCheckpoint,
  createCheckpoints,
  MAX_CHECKPOINT,
} from '../../../../../plugins/agent-engine/store/checkpoints/checkpoints.ts';
import { eachDatabase, type FreshDatabase } from '../../../../support/databases.ts';

const ids = createIds(systemClock);
const place = { sessionId: 's1', agent: 'payer' };

function checkpoint(state: unknown = {}): Checkpoint {
  return { id: ids.uuid(), agent: 'payer', interrupts: [], state };
}

async function open(t: ExecutionContext, fresh: FreshDatabase) {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(kernelRegistration);
  await database.register({ owner: 'agent-engine', entities: [AgentCheckpoint], migrations: [migration] });
  const entities = () => database.forTenant('00000000-0000-7000-8000-00000000000a');
  return { database, entities, checkpoints: createCheckpoints({ clock: systemClock, ids }) };
}

eachDatabase(test, 'a checkpoint comes back as it was, whatever is in it', async (t, fresh) => {
  const { database, entities, checkpoints } = await open(t, fresh);
  t.is(await database.schemaDrift(), '');
  const kept = checkpoint({ text: 'nul \u0000, half \ud800, 😀 \\u0000', n: [1, null, true] });
  await checkpoints.save(entities(), { ...place, checkpoint: kept });
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
  for (const one of [first, second]) await checkpoints.save(entities(), { ...place, checkpoint: one });
  t.deepEqual((await checkpoints.find(entities(), place))?.checkpoint, second);
  t.false(await checkpoints.take(entities(), { ...place, checkpointId: first.id }));
  t.true(await checkpoints.take(entities(), { ...place, checkpointId: second.id }));
  t.is(await checkpoints.find(entities(), place), undefined);
});

eachDatabase(test, 'of many who take a checkpoint at once, one gets it', async (t, fresh) => {
  const { entities, checkpoints } = await open(t, fresh);
  for (let round = 0; round < 3; round += 1) {
    const kept = checkpoint();
    await checkpoints.save(entities(), { ...place, checkpoint: kept });
    const takers = Array.from({ length: 8 }, (_, n) =>
      n % 2 === 0
        ? checkpoints.take(entities(), { ...place, checkpointId: kept.id })
        : entities().transaction((within) => checkpoints.take(within, { ...place, checkpointId: kept.id })),
    );
    t.is((await Promise.all(takers)).filter(Boolean).length, 1);
  }
});

eachDatabase(test, 'a taking that is rolled back leaves the checkpoint', async (t, fresh) => {
  const { entities, checkpoints } = await open(t, fresh);
  const kept = checkpoint();
  await checkpoints.save(entities(), { ...place, checkpoint: kept });
  await t.throwsAsync(
    entities().transaction(async (within) => {
      t.true(await checkpoints.take(within, { ...place, checkpointId: kept.id }));
      throw new Error('the turn failed');
    }),
    { message: 'the turn failed' },
  );
  t.deepEqual((await checkpoints.find(entities(), place))?.checkpoint, kept);
});

eachDatabase(test, 'a session is forgotten with all its agents, and no other', async (t, fresh) => {
  const { entities, checkpoints } = await open(t, fresh);
  for (const sessionId of ['s1', 's2'])
    for (const agent of ['', 'payer'])
      await checkpoints.save(entities(), { sessionId, agent, checkpoint: checkpoint() });
  t.is(await checkpoints.forget(entities(), 's1'), 2);
  t.is(await checkpoints.find(entities(), place), undefined);
  t.not(await checkpoints.find(entities(), { sessionId: 's2', agent: '' }), undefined);
});

eachDatabase(test, 'a checkpoint above 1 MiB is refused, one below is kept', async (t, fresh) => {
  const { entities, checkpoints } = await open(t, fresh);
  await checkpoints.save(entities(), { ...place, checkpoint: checkpoint('x'.repeat(MAX_CHECKPOINT - 200)) });
  const error = await t.throwsAsync(
    checkpoints.save(entities(), { ...place, checkpoint: checkpoint('x'.repeat(MAX_CHECKPOINT)) }),
  );
  t.like(error, { code: 'agent.checkpoint-too-large' });
});
