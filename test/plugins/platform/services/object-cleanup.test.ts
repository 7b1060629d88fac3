import test from 'ava';
import type { StoredObjects } from '../../../../foundation/protection/personal-data.ts';
import { createObjectCleanup } from '../../../../plugins/platform/services/data-protection/object-cleanup.ts';
import { manualClock, memoryObjects } from '../../../../testing/index.ts';

const HOUR_MS = 3_600_000;
const never = new AbortController().signal;

/** Claims what begins with a text, and refers to some of it. */
function claim(prefix: string, referenced: readonly string[], asked: string[] = []): StoredObjects {
  return {
    name: prefix,
    prefixes: [prefix],
    async unreferenced(_tenant, keys, remove) {
      asked.push(...keys);
      await remove(keys.filter((key) => !referenced.includes(key)));
    },
  };
}

function open(references: readonly StoredObjects[]) {
  const clock = manualClock();
  const objects = memoryObjects(clock);
  const away = { ms: 0 };
  const database = { now: async () => clock.now() - away.ms };
  const cleanUp = createObjectCleanup({ objects, references: () => references, clock, database });
  const keys = async () => (await objects.forTenant('one').list('')).objects.map(({ key }) => key);
  return { clock, away, cleanUp, space: objects.forTenant('one'), keys };
}

test('an object that several claim is deleted when none of them refers to it', async (t) => {
  const { clock, cleanUp, space, keys } = open([claim('a', ['a/1']), claim('a/', ['a/2']), claim('b', [])]);
  for (const key of ['a/1', 'a/2', 'a/3', 'ab', 'b/1', 'c']) await space.put(key, '123');
  clock.advance(HOUR_MS);
  t.deepEqual(await cleanUp('one', never), { deleted: 3, bytes: 9, scanned: 6 });
  t.deepEqual(await keys(), ['a/1', 'a/2', 'c']);
});

test('an object that is young by the clock of the database stays', async (t) => {
  const { clock, away, cleanUp, space } = open([claim('a/', [])]);
  await space.put('a/1', '123');
  clock.advance(HOUR_MS);
  away.ms = 1;
  t.like(await cleanUp('one', never), { deleted: 0, scanned: 1 });
  away.ms = -1;
  t.like(await cleanUp('one', never), { deleted: 1, scanned: 1 });
});

test('nobody gives away what he was not asked about', async (t) => {
  const generous: StoredObjects = {
    name: 'generous',
    prefixes: ['a/'],
    unreferenced: (_tenant, keys, remove) => remove([...keys, 'b/1', 'a/young', '../two/x']),
  };
  for (const references of [[generous], [generous, claim('a', [])], [claim('a', []), generous]]) {
    const { clock, cleanUp, space, keys } = open(references);
    for (const key of ['a/1', 'b/1']) await space.put(key, '123');
    clock.advance(HOUR_MS);
    await space.put('a/young', '123');
    t.like(await cleanUp('one', never), { deleted: 1, scanned: 3 });
    t.deepEqual(await keys(), ['a/young', 'b/1']);
  }
});

test('one who fails keeps all of his, and says so; a caller who is gone ends it', async (t) => {
  const failing: StoredObjects = {
    ...claim('a/', []),
    unreferenced: () => Promise.reject(new Error('the table is away')),
  };
  const { clock, cleanUp, space, keys } = open([failing]);
  await space.put('a/1', '123');
  clock.advance(HOUR_MS);
  await t.throwsAsync(cleanUp('one', never), { message: 'the table is away' });
  await t.throwsAsync(cleanUp('one', AbortSignal.abort(new Error('gone'))), { message: 'gone' });
  t.deepEqual(await keys(), ['a/1']);
});

test('a tenant with very many objects is looked through page by page', async (t) => {
  const asked: string[] = [];
  const { clock, cleanUp, space, keys } = open([claim('a/', [], asked)]);
  for (let index = 0; index < 2_500; index += 1) await space.put(`a/${index}`, '1');
  clock.advance(HOUR_MS);
  t.deepEqual(await cleanUp('one', never), { deleted: 2_500, bytes: 2_500, scanned: 2_500 });
  t.is(new Set(asked).size, 2_500);
  t.deepEqual(await keys(), []);
});
