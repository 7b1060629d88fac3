import test, { type ExecutionContext } from 'ava';
import { isUniqueViolation } from '../../../../../foundation/data/database.ts';
import { MemoriesChanged } from '../../../../../plugins/records/contract.ts';
import { MemoryEntity } from '../../../../../plugins/records/store/memories.ts';
import { eachDatabase, freshDatabase } from '../../../../support/databases.ts';
import { until } from '../../../../support/until.ts';
import { openMemories, testEmbeddings } from './kit.ts';

const TENANT = '01900000-0000-7000-8000-000000000001';
const OTHER = '01900000-0000-7000-8000-000000000002';
const PAGE = { limit: 50, offset: 0 };

eachDatabase(test, 'a memory is kept, written over, listed and forgotten', async (t, fresh) => {
  const { memories, database, services } = await openMemories(t, fresh);
  const entities = database.forTenant(TENANT);
  const first = await memories.save(entities, 'ana', {
    key: 'tea',
    value: 'green',
    metadata: { by: 'tool' },
  });
  services.clock.advance(1000);
  await memories.save(entities, 'ana', { key: 'city', value: 'Porto' });
  services.clock.advance(1000);
  const again = await memories.save(entities, 'ana', { key: 'tea', value: 'black' });
  t.is(again.id, first.id);
  t.deepEqual(again.createdAt, first.createdAt);
  t.is(again.updatedAt.getTime() - first.updatedAt.getTime(), 2000);

  const { memories: listed, total } = await memories.list(database.forTenant(TENANT), 'ana', PAGE);
  t.is(total, 2);
  t.deepEqual(listed, [again, listed[1]!], 'the last written first');
  t.like(listed[1], { key: 'city', value: 'Porto', metadata: {} });
  const second = await memories.list(entities, 'ana', { limit: 1, offset: 1 });
  t.deepEqual([second.memories.map(({ key }) => key), second.total], [['city'], 2]);

  t.true(await memories.forget(entities, 'ana', 'tea'));
  t.false(await memories.forget(entities, 'ana', 'tea'));
  t.is((await memories.list(entities, 'ana', PAGE)).total, 1);
  t.is(await database.schemaDrift(), '');
});

eachDatabase(test, 'users and tenants do not see each other', async (t, fresh) => {
  const { memories, database } = await openMemories(t, fresh);
  const [mine, theirs] = [database.forTenant(TENANT), database.forTenant(OTHER)];
  await memories.save(mine, 'ana', { key: 'tea', value: 'green tea' });
  await memories.save(mine, 'Ana', { key: 'tea', value: 'of somebody else: tea' });
  await memories.save(theirs, 'ana', { key: 'tea', value: 'of another tenant: tea' });
  t.deepEqual(
    (await memories.search(mine, 'ana', 'tea')).map(({ value }) => value),
    ['green tea'],
  );
  t.false(await memories.forget(mine, 'ben', 'tea'));
  t.true(await memories.forget(mine, 'ana', 'tea'));
  t.is((await memories.list(theirs, 'ana', PAGE)).total, 1);
  t.is((await memories.list(mine, 'Ana', PAGE)).total, 1);
});

eachDatabase(test, 'any text survives: NUL, halves of pairs, long and strange keys', async (t, fresh) => {
  const { memories, database } = await openMemories(t, fresh);
  const entities = database.forTenant(TENANT);
  const value = `a\0b\ud800c\u2028 🍵'"\\ ${'x'.repeat(8000)}`;
  const key = '🍵'.repeat(128);
  const user = 'ü'.repeat(255);
  await memories.save(entities, user, { key, value, metadata: { deep: ['\0', null] } });
  const { memories: listed } = await memories.list(entities, user, PAGE);
  t.like(listed[0], { key, value });
  t.deepEqual(listed[0]!.metadata, { deep: ['\0', null] });
  t.true(await memories.forget(entities, user, key));
  t.false(await memories.forget(entities, user, 'a\0b'), 'what cannot be a key is unknown');
});

eachDatabase(test, 'a memory is found and rewritten by its id, which is no word of it', async (t, fresh) => {
  const { memories, database } = await openMemories(t, fresh);
  const entities = database.forTenant(TENANT);
  const { id } = await memories.save(entities, 'ana', { value: 'green tea', metadata: { a: 1 } });
  const [found] = await memories.search(entities, 'ana', 'green tea');
  t.true(found!.score > 0.99, `${found!.score}`);
  const changed = await memories.update(entities, id, { value: 'coffee' });
  t.like(changed, { id, userId: 'ana', key: id, value: 'coffee', metadata: { a: 1 } });
  t.deepEqual(await memories.find(entities, id), changed);
  t.deepEqual(await memories.search(entities, 'ana', 'green tea'), []);
  const elsewhere = database.forTenant(OTHER);
  t.is(await memories.find(elsewhere, id), undefined);
  t.is(await memories.update(elsewhere, id, { value: 'x' }), undefined);
  await t.throwsAsync(memories.update(entities, id, { value: '' }), { message: /malformed/ });
});

eachDatabase(test, 'simultaneous writers of one key leave one memory', async (t, fresh) => {
  const { memories, database } = await openMemories(t, fresh);
  const values = Array.from({ length: 12 }, (_, index) => `value ${index}`);
  const saved = await Promise.all(
    values.map((value) => memories.save(database.forTenant(TENANT), 'ana', { key: 'tea', value })),
  );
  const { memories: listed, total } = await memories.list(database.forTenant(TENANT), 'ana', PAGE);
  t.is(total, 1);
  t.true(values.includes(listed[0]!.value));
  t.deepEqual(new Set(saved.map(({ id }) => id)), new Set([listed[0]!.id]));
});

test('a key that is absent is the id', async (t) => {
  const { memories, database } = await openMemories(t, await sqlite(t));
  const saved = await memories.save(database.forTenant(TENANT), 'ana', { value: 'green tea' });
  t.is(saved.key, saved.id);
});

test('a user keeps 1,000 memories at most, and may still write over them', async (t) => {
  const { memories, database } = await openMemories(t, await sqlite(t));
  const entities = database.forTenant(TENANT);
  const now = new Date(0);
  await entities.insertMany(
    MemoryEntity,
    Array.from({ length: 1000 }, (_, index) => ({
      id: `m${index}`,
      userId: 'ana',
      key: `k${index}`,
      value: '"x"',
      metadata: '{}',
      createdAt: now,
      updatedAt: now,
    })),
  );
  await t.throwsAsync(memories.save(entities, 'ana', { key: 'one-more', value: 'x' }), {
    code: 'memory.full',
  });
  await t.notThrowsAsync(memories.save(entities, 'ana', { key: 'k7', value: 'changed' }));
  await t.notThrowsAsync(memories.save(entities, 'ben', { key: 'first', value: 'x' }));
  t.is((await memories.search(entities, 'ana', 'changed'))[0]!.key, 'k7');
});

test('what is malformed is refused with all that is wrong, and a bad user has nothing', async (t) => {
  const { memories, database } = await openMemories(t, await sqlite(t));
  const entities = database.forTenant(TENANT);
  const error = await t.throwsAsync(memories.save(entities, 'a\0', { key: '', value: '' }));
  t.like(error, { code: 'memory.invalid', extras: { errors: { length: 3 } } });
  t.deepEqual(await memories.list(entities, 'a\0', PAGE), { memories: [], total: 0 });
  t.deepEqual(await memories.search(entities, 'a\0', 'x'), []);
});

eachDatabase(test, 'a search makes the missing vectors once and keeps them', async (t, fresh) => {
  const embeddings = testEmbeddings();
  const { memories, database } = await openMemories(t, fresh, embeddings);
  const entities = database.forTenant(TENANT);
  await memories.save(entities, 'ana', { key: 'tea', value: 'likes green tea' });
  await memories.save(entities, 'ana', { key: 'city', value: 'lives in Porto' });
  t.is(embeddings.calls.length, 0, 'a save does not ask the embeddings');

  const found = await memories.search(entities, 'ana', 'green tea');
  t.deepEqual(
    found.map(({ key }) => key),
    ['tea'],
  );
  t.true(found[0]!.score > 0.5 && found[0]!.score <= 1);
  t.false('embedding' in found[0]!);
  t.deepEqual(
    embeddings.calls.map(({ length }) => length),
    [1, 2],
  );

  await memories.search(database.forTenant(TENANT), 'ana', 'porto');
  t.deepEqual(embeddings.calls.slice(2), [['porto']], 'only the query');
  await memories.save(entities, 'ana', { key: 'tea', value: 'prefers coffee now' });
  t.deepEqual(
    (await memories.search(entities, 'ana', 'green tea')).map(({ key }) => key),
    ['tea'],
  );
  t.deepEqual(embeddings.calls.at(-1), ['tea\nprefers coffee now'], 'a changed value has no old vector');
});

test('vectors of other embeddings are made anew, and a damaged one does no harm', async (t) => {
  const { memories, database, withEmbeddings } = await openMemories(t, await sqlite(t));
  const entities = database.forTenant(TENANT);
  await memories.save(entities, 'ana', { key: 'tea', value: 'green tea' });
  await memories.search(entities, 'ana', 'tea');
  const other = testEmbeddings('other:64');
  const renewed = withEmbeddings(other);
  t.is((await renewed.search(entities, 'ana', 'green tea')).length, 1);
  t.deepEqual(
    other.calls.map(({ length }) => length),
    [1, 1],
  );
  await entities.update(MemoryEntity, {}, { embedding: Buffer.from('abc') });
  t.is((await renewed.search(entities, 'ana', 'green tea'))[0]!.score, 0.5, 'by words alone');
});

test('where nothing contributes embeddings, memories are searched by words, and nothing is logged', async (t) => {
  const { memories, database, withEmbeddings, logged } = await openMemories(t, await sqlite(t));
  const entities = database.forTenant(TENANT);
  await memories.save(entities, 'ana', { key: 'tea', value: 'green tea' });
  const [found] = await withEmbeddings(undefined).search(entities, 'ana', 'green tea');
  t.like(found, { key: 'tea', score: 0.5 });
  t.deepEqual(logged, []);
});

test('one search makes a bounded number of vectors; the next ones go on', async (t) => {
  const embeddings = testEmbeddings();
  const { memories, database } = await openMemories(t, await sqlite(t), embeddings);
  const entities = database.forTenant(TENANT);
  for (let index = 0; index < 70; index += 1)
    await memories.save(entities, 'ana', { key: `k${index}`, value: `${'x'.repeat(8000)}` });
  for (let round = 0; round < 3; round += 1) await memories.search(entities, 'ana', 'green');
  t.deepEqual(
    embeddings.calls.map(({ length }) => length),
    [1, 64, 1, 6, 1],
  );
  t.true(
    embeddings.calls.flat().every((text) => text.length <= 4000),
    'long texts are cut',
  );
});

test('of more memories than one search makes vectors of, the first are those with the words that are asked for', async (t) => {
  const { memories, database } = await openMemories(t, await sqlite(t), testEmbeddings());
  const entities = database.forTenant(TENANT);
  await memories.save(entities, 'ana', { key: 'old', value: 'likes green tea' });
  for (let index = 0; index < 70; index += 1)
    await memories.save(entities, 'ana', { key: `k${index}`, value: 'green lights are on' });
  const [best] = await memories.search(entities, 'ana', 'likes green tea');
  t.is(best?.key, 'old');
});

test('while the embeddings are away, saving works and a search finds by words; it is logged once', async (t) => {
  const embeddings = testEmbeddings();
  embeddings.isAway = true;
  const { memories, database, logged, services } = await openMemories(t, await sqlite(t), embeddings);
  const entities = database.forTenant(TENANT);
  await memories.save(entities, 'ana', { key: 'tea', value: 'likes green tea' });
  for (let round = 0; round < 3; round += 1) {
    t.deepEqual(
      (await memories.search(entities, 'ana', 'green tea')).map(({ key }) => key),
      ['tea'],
    );
  }
  t.is(logged.length, 1);
  t.false(logged.join().includes('green'), 'what was asked is not logged');
  services.clock.advance(60_000);
  await memories.search(entities, 'ana', 'green tea');
  t.is(logged.length, 2);
  embeddings.isAway = false;
  await memories.search(entities, 'ana', 'green tea');
  const row = await database.forTenant(TENANT).findOneOrFail(MemoryEntity, { key: 'tea' });
  t.is(row.embeddingId, 'test:64', 'the vector is filled in later');
});

test('a vector that was made of an old value is not kept for the new one', async (t) => {
  const embeddings = testEmbeddings();
  const opened = await openMemories(t, await sqlite(t), {
    id: embeddings.id,
    async embed(texts, signal) {
      if (texts[0]!.startsWith('tea')) {
        await opened.memories.save(opened.database.forTenant(TENANT), 'ana', { key: 'tea', value: 'black' });
      }
      return embeddings.embed(texts, signal);
    },
  });
  const entities = opened.database.forTenant(TENANT);
  await opened.memories.save(entities, 'ana', { key: 'tea', value: 'green' });
  await opened.memories.search(entities, 'ana', 'green');
  const row = await opened.database.forTenant(TENANT).findOneOrFail(MemoryEntity, { key: 'tea' });
  t.like(row, { value: '"black"', embeddingId: null, embedding: null });
});

test('an empty query finds nothing and asks nobody', async (t) => {
  const embeddings = testEmbeddings();
  const { memories, database } = await openMemories(t, await sqlite(t), embeddings);
  await memories.save(database.forTenant(TENANT), 'ana', { value: 'x' });
  t.deepEqual(await memories.search(database.forTenant(TENANT), 'ana', ' \n'), []);
  t.deepEqual(await memories.search(database.forTenant(TENANT), 'ben', 'x'), []);
  t.is(embeddings.calls.length, 0);
});

test('a change is told, a search and a miss are not', async (t) => {
  const { memories, database, services } = await openMemories(t, await sqlite(t));
  const heard: string[] = [];
  services.events.on(MemoriesChanged, ({ tenant_id, user_id }) => void heard.push(`${tenant_id} ${user_id}`));
  const entities = database.forTenant(TENANT);
  await memories.forget(entities, 'ana', 'tea');
  await memories.save(entities, 'ana', { key: 'tea', value: 'x' });
  await memories.search(entities, 'ana', 'x');
  await memories.forget(entities, 'ana', 'tea');
  await until(() => heard.length === 2);
  t.deepEqual(heard, [`${TENANT} ana`, `${TENANT} ana`]);
});

test('the table holds one memory of a key', async (t) => {
  const { memories, database } = await openMemories(t, await sqlite(t));
  const entities = database.forTenant(TENANT);
  const { id: _, ...memory } = await memories.save(entities, 'ana', { key: 'tea', value: 'x' });
  const row = { ...memory, id: 'second', value: '"y"', metadata: '{}' };
  const error = await t.throwsAsync(entities.insert(MemoryEntity, row), { any: true });
  t.true(isUniqueViolation(error));
});

async function sqlite(t: ExecutionContext) {
  return (await freshDatabase(t, 'sqlite'))!;
}

eachDatabase(test, 'a profile is kept as it was written, by user and tenant', async (t, fresh) => {
  const { profiles, database, services } = await openMemories(t, fresh);
  const heard: string[] = [];
  services.events.on(MemoriesChanged, ({ user_id }) => void heard.push(user_id));
  const entities = database.forTenant(TENANT);
  t.is(await profiles.read(entities, 'ana'), undefined);
  const text = '# Ana\r\n\0 \ud800 🍵\n';
  await profiles.write(entities, 'ana', 'first');
  await profiles.write(entities, 'ana', text);
  t.is(await profiles.read(entities, 'ana'), text);
  t.is(await profiles.read(entities, 'ben'), undefined);
  t.is(await profiles.read(database.forTenant(OTHER), 'ana'), undefined);
  await profiles.write(entities, 'ana', '');
  t.is(await profiles.read(entities, 'ana'), undefined);
  await until(() => heard.length === 3);
});

eachDatabase(test, 'a profile has 16 KiB at most; nothing of a longer one is kept', async (t, fresh) => {
  const { profiles, database } = await openMemories(t, fresh);
  const entities = database.forTenant(TENANT);
  await t.notThrowsAsync(profiles.write(entities, 'ana', 'x'.repeat(16_384)));
  await t.throwsAsync(profiles.write(entities, 'ana', 'ü'.repeat(8193)), { code: 'profile.too-large' });
  t.is((await profiles.read(entities, 'ana'))?.length, 16_384);
  await t.throwsAsync(profiles.write(entities, 'x'.repeat(256), 'text'), { code: 'profile.invalid-user' });
});
