import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../support/until.ts';
import {
  liveTexts,
  openFolder,
  problemLines,
  publishKinds,
  type Thing,
  type ThingKind,
  thing,
  thingKind,
} from './things.ts';

async function folderWith(t: ExecutionContext<unknown>, files: Record<string, string>) {
  const watch = () => ({ on: () => undefined, close: () => undefined }) as never;
  const opened = await openFolder(t, {
    watch,
    prepare: async (folder) => {
      await mkdir(folder);
      for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
    },
  });
  const { resources, log } = opened;
  const register = (kind: ThingKind, plugin = 'tester') => resources.register<Thing>(kind, { plugin, log });
  const put = async (file: string, text: string) => {
    await writeFile(path.join(opened.folder, file), text);
    await resources.reload();
  };
  return { ...opened, register, put };
}

test('a document waits for the plugin that registers its kind, and waits again when that leaves', async (t) => {
  const opened = await folderWith(t, {
    'a.yaml': thing('a', { text: 'one' }),
    'b.yaml': thing('b', { text: 'x' }, 'Thign'),
  });
  const { resources, register } = opened;
  const waiting = ['a.yaml:2: /kind: waits: no plugin registers the kind Thing'];
  t.deepEqual(problemLines(resources).slice(0, 1), waiting);
  t.deepEqual((await resources.reload()).failed, []);
  const log = { built: [] as string[], disposed: [] as string[] };
  const things = register(thingKind(log));
  t.deepEqual(things.view.list(), []);
  const staged = await resources.prepare([things]);
  t.deepEqual([things.view.list(), log.built], [[], ['a:one']]);
  staged.publish();
  t.deepEqual(liveTexts(things), { a: 'one' });
  t.deepEqual(problemLines(resources), [
    'b.yaml:2: /kind: waits: no plugin registers the kind Thign; did you mean Thing?',
  ]);

  (await resources.prepare([])).publish();
  t.deepEqual(problemLines(resources).slice(0, 1), waiting);
  // Its calls in flight still find what was there.
  t.deepEqual(liveTexts(things), { a: 'one' });
  t.deepEqual(log.disposed, []);
  const lease = things.view.acquire('a')!;
  await things.retire();
  t.deepEqual([things.view.list(), log.disposed, lease.value.isDisposed], [[], ['one'], true]);
});

test('a new generation of a plugin gets values of its own before it is seen, and the old one keeps its own', async (t) => {
  const { resources, register } = await folderWith(t, { 'a.yaml': thing('a', { text: 'one' }) });
  const oldLog = { built: [] as string[], disposed: [] as string[] };
  const newLog = { built: [] as string[], disposed: [] as string[] };
  const old = register(thingKind(oldLog));
  (await resources.prepare([old])).publish();
  const fresh = register(thingKind(newLog));
  const staged = await resources.prepare([fresh]);
  t.deepEqual([newLog.built, liveTexts(fresh)], [['a:one'], {}]);
  let told = 0;
  fresh.view.onChange(() => {
    told += 1;
  });
  staged.publish();
  t.not(fresh.view.get('a'), old.view.get('a'));
  t.is(told, 1);
  await old.retire();
  t.deepEqual([oldLog.disposed, newLog.disposed], [['one'], []]);
  t.deepEqual(liveTexts(fresh), { a: 'one' });
});

test('what was staged and not published leaves nothing, and reloads go on', async (t) => {
  const { resources, register, put } = await folderWith(t, { 'a.yaml': thing('a', { text: 'one' }) });
  const log = { built: [] as string[], disposed: [] as string[] };
  const old = register(thingKind());
  (await resources.prepare([old])).publish();
  const staged = await resources.prepare([register(thingKind(log))]);
  staged.discard();
  await until(() => log.disposed.length === 1);
  t.deepEqual(log, { built: ['a:one'], disposed: ['one'] });
  await put('a.yaml', thing('a', { text: 'two' }));
  t.deepEqual(liveTexts(old), { a: 'two' });
});

test('a reload waits while kinds are staged, and is not lost', async (t) => {
  const { resources, register, folder } = await folderWith(t, { 'a.yaml': thing('a', { text: 'one' }) });
  const things = register(thingKind());
  const staged = await resources.prepare([things]);
  await writeFile(path.join(folder, 'a.yaml'), thing('a', { text: 'two' }));
  let isDone = false;
  const reloading = resources.reload().then(() => {
    isDone = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  t.false(isDone);
  staged.publish();
  t.deepEqual(liveTexts(things), { a: 'one' });
  await reloading;
  t.deepEqual(liveTexts(things), { a: 'two' });
});

test('two plugins cannot register one kind, and both are named', async (t) => {
  const { resources, register } = await folderWith(t, {});
  await t.throwsAsync(resources.prepare([register(thingKind(), 'one'), register(thingKind(), 'two')]), {
    message: 'one and two both register the kind Thing',
  });
  t.throws(() => register(thingKind(undefined, {}, 'thing')), {
    message: /thing, which is no name for one: it begins with a capital/,
  });
  t.deepEqual((await resources.reload()).loaded, 0);
});

test('resources of a kind that depends on another are rebuilt with it, and wait while it is away', async (t) => {
  const { resources, register } = await folderWith(t, {
    'a.yaml': thing('leaf', { text: 'leaf' }, 'Leaf'),
    'b.yaml': thing('tree', { text: 'tree', needs: ['leaf'] }, 'Tree'),
  });
  const leafKind = () => thingKind(undefined, {}, 'Leaf');
  const treeKind = thingKind(
    undefined,
    {
      references: ({ spec }) => spec.needs!.map((name) => ({ kind: 'Leaf', name, pointer: '/spec/needs/0' })),
      build: ({ spec }, { resolve }) => ({
        text: spec.text,
        isDisposed: false,
        parts: spec.needs!.map((name) => resolve<Thing>('Leaf', name)!),
      }),
    },
    'Tree',
  );
  const trees = register(treeKind);
  (await resources.prepare([trees])).publish();
  t.deepEqual(problemLines(resources), [
    'a.yaml:2: /kind: waits: no plugin registers the kind Leaf',
    'b.yaml:5: /spec/needs/0: waits for the Leaf leaf, which waits itself',
  ]);
  const leaves = register(leafKind());
  (await resources.prepare([trees, leaves])).publish();
  t.is(trees.view.get('tree')?.parts[0], leaves.view.get('leaf'));
  const again = register(leafKind());
  (await resources.prepare([trees, again])).publish();
  await leaves.retire();
  t.is(trees.view.get('tree')?.parts[0], again.view.get('leaf'));
  t.false(again.view.get('leaf')!.isDisposed);

  // Nothing may go on with values of a plugin that is not there any more.
  (await resources.prepare([trees])).publish();
  t.deepEqual(liveTexts(trees), {});
  await again.retire();
});

test('when a plugin is replaced while a file is bad, the last good version is built anew', async (t) => {
  const { resources, register, put } = await folderWith(t, { 'a.yaml': thing('a', { text: 'one' }) });
  const old = register(thingKind());
  (await resources.prepare([old])).publish();
  await put('a.yaml', 'nonsense');
  const fresh = register(thingKind());
  (await resources.prepare([fresh])).publish();
  await old.retire();
  t.deepEqual(liveTexts(fresh), { a: 'one' });
  t.false(fresh.view.get('a')!.isDisposed);
  t.is(problemLines(resources).length, 1);
  await put('a.yaml', thing('a', { text: 'two' }));
  t.deepEqual(liveTexts(fresh), { a: 'two' });
});

test('readers never see a mix of old and new resources', async (t) => {
  const opened = await folderWith(t, {});
  const [things] = await publishKinds(
    opened,
    thingKind(undefined, {
      // Each build takes turns of its own, so that a reader gets between them.
      build: async ({ spec }) => {
        await new Promise((resolve) => setImmediate(resolve));
        return { text: spec.text, parts: [], isDisposed: false };
      },
    }),
  );
  const mixes: string[] = [];
  let isDone = false;
  const reading = (async () => {
    while (!isDone) {
      const texts = new Set(Object.values(liveTexts(things!)));
      if (texts.size > 1) mixes.push([...texts].join());
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  for (let round = 0; round < 10; round++) {
    const names = Array.from({ length: 20 }, (_, at) => thing(`t${at}`, { text: `r${round}` }));
    await opened.put('a.yaml', `${names.slice(0, 10).join('---\n')}---\n${names.slice(10).join('---\n')}`);
  }
  isDone = true;
  await reading;
  t.deepEqual(mixes, []);
  t.is(things!.view.list().length, 20);
});

test('a bad header hides no problem of the spec, nor a bad spec what a rule for unread documents finds', async (t) => {
  const { resources, register } = await folderWith(t, {
    'a.yaml': thing('a b', { text: 'red', size: 10, colour: 1 }),
    'b.yaml': thing('b', { text: 'red', size: 10 }),
    'c.yaml': thing('c', { text: 'red' }),
    'd.yaml': 'apiVersion: svc/v1\nkind: Thing\nmetadata: 7\n',
    'e.yaml': 'apiVersion: svc/v1\nkind: Thing\nmetadata: {name: e, label: x}\nspec: 7\n',
  });
  const seen: unknown[] = [];
  const kind = thingKind(undefined, {
    checkUnread: ({ metadata, spec }) => {
      seen.push(metadata.name);
      return spec.text === 'red' ? [{ pointer: '/spec/text', message: 'must not be red' }] : [];
    },
    check: () => [{ pointer: '/spec', message: 'is sound, and refused' }],
  });
  (await resources.prepare([register(kind)])).publish();
  const places = (file: string) =>
    problemLines(resources)
      .filter((line) => line.startsWith(file))
      .map((line) => line.split(': ')[1])
      .toSorted();
  t.deepEqual(places('a.yaml'), ['/metadata/name', '/spec/colour', '/spec/size', '/spec/text']);
  t.deepEqual(places('b.yaml'), ['/spec/size', '/spec/text']);
  t.deepEqual(places('c.yaml'), ['/spec', '/spec/text']);
  t.deepEqual(places('d.yaml'), ['/metadata', '/spec']);
  t.deepEqual(places('e.yaml'), ['/metadata/label', '/spec']);
  t.deepEqual(seen, ['a b', 'b', 'c'], 'each once, and of no spec that is no mapping');
  const read = (text: string) => resources.read('Thing', text).errors.map(({ pointer }) => pointer);
  t.deepEqual(read(thing('a b', { text: 'red', size: 10 })), ['/metadata/name', '/spec/size', '/spec/text']);
  t.deepEqual(read(thing('a b', { text: '' }, 'Other')), ['/metadata/name', '/kind']);
});

test('what waits for a plugin is logged when the plugins have had their start, once', async (t) => {
  const { resources, lines } = await folderWith(t, { 'a.yaml': thing('a', { text: 'one' }) });
  const told = () => lines.filter((line) => line.includes('a resource waits for a plugin')).length;
  // A start may take longer than the next look at the folder.
  await resources.reload();
  t.is(told(), 0);
  resources.started();
  await resources.reload();
  t.is(told(), 1);
});
