import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { GatewayError } from '../../../foundation/base/gateway-error.ts';
import { manualClock } from '../../../testing/manual-clock.ts';
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

const DEADLINE = 20_000;

/** A folder that is read on request alone, with the kind Thing. */
async function started(
  t: ExecutionContext<unknown>,
  { over, ...options }: Parameters<typeof openFolder>[1] & { over?: Partial<ThingKind> } = {},
) {
  const watch = () => ({ on: () => undefined, close: () => undefined }) as never;
  const opened = await openFolder(t, { prepare: (folder) => mkdir(folder), watch, ...options });
  const log = { built: [] as string[], disposed: [] as string[] };
  const [things] = await publishKinds(opened, thingKind(log, over));
  const put = async (file: string, ...documents: string[]) => {
    await writeFile(path.join(opened.folder, file), documents.join('---\n'));
    return opened.resources.reload();
  };
  return { ...opened, ...log, things: things!, put };
}

test('one broken document of three is reported with its line, and the other two are live', async (t) => {
  const { put, things, resources } = await started(t);
  const reloaded = await put(
    'all.yaml',
    thing('a', { text: 'one' }),
    'apiVersion: svc/v1\nkind: Thing\nmetadata: {name: b}\nspec:\n  text: "never closed\n',
    thing('c', { text: 'three' }),
  );
  t.deepEqual(liveTexts(things), { a: 'one', c: 'three' });
  t.is(reloaded.loaded, 2);
  t.deepEqual(
    reloaded.failed.map(({ file }) => file),
    ['all.yaml'],
  );
  t.regex(reloaded.failed[0]!.error, /^all\.yaml:12: Missing closing "quote$/);
  t.deepEqual(
    resources.report().files[0]!.documents.map(({ name, status, line }) => [name, status, line]),
    [
      ['a', 'live', 1],
      [undefined, 'failed', 7],
      ['c', 'live', 13],
    ],
  );
});

test('a file that was never good is said not to be loaded', async (t) => {
  const { put, lines } = await started(t);
  await put('a.yaml', thing('a', { text: 'one' }));
  await put('b.yaml', 'kind: [');
  t.true(lines.some((line) => line.includes('b.yaml:1') && line.includes('and was not loaded')));
  t.false(lines.some((line) => line.includes('last good version')));
});

test('a bad change keeps the last good version, disturbs no other, and a good one ends that', async (t) => {
  const { put, things, built, disposed, resources, lines } = await started(t);
  await put('a.yaml', thing('a', { text: 'one' }));
  await put('b.yaml', thing('b', { text: 'other' }));
  const bad: [string, RegExp][] = [
    ['kind: [', /^a\.yaml:1: : /],
    [thing('a', { text: '' }), /^a\.yaml:5: \/spec\/text: must have at least 1 character$/],
    [thing('a', { txet: 'x' }), /^a\.yaml:5: \/spec\/text: is required$/],
    [
      thing('a', { text: 'x', needs: ['nobody'] }),
      /^a\.yaml:5: \/spec\/needs\/0: there is no Thing with the name nobody$/,
    ],
    [thing('a', { text: 'x', fails: true }), /^a\.yaml:1: : could not be built: a fails$/],
    [thing('a', { text: 'x' }).replace('svc/v1', 'svc/v2'), /^a\.yaml:1: \/apiVersion: must be svc\/v1$/],
  ];
  for (const [text, problem] of bad) {
    await put('a.yaml', text);
    t.regex(problemLines(resources)[0] ?? '', problem);
    t.deepEqual(liveTexts(things), { a: 'one', b: 'other' });
    t.regex(lines.findLast((line) => line.includes('a resource')) ?? '', /; its last good version stays/);
    const [a, b] = resources.report().files;
    t.deepEqual([a!.documents.at(-1)?.servesLastGood, b!.documents[0]?.status], [true, 'live']);
  }
  await put('a.yaml', thing('a', { text: 'two' }));
  t.deepEqual(liveTexts(things), { a: 'two', b: 'other' });
  t.deepEqual(problemLines(resources), []);
  t.deepEqual(built, ['a:one', 'b:other', 'a:two']);
  await until(() => disposed.length === 1, DEADLINE);
  t.deepEqual(disposed, ['one']);
  t.is(lines.filter((line) => line.includes('a fails')).length, 1);
});

test('all that is wrong with a document is told at once, with what was probably meant', async (t) => {
  const { put, resources } = await started(t);
  await put(
    'a.yaml',
    [
      'apiVersion: svc/v1',
      'kind: Thing',
      'metadata: { name: a }',
      'spec:',
      '  text: one',
      '  sise: 3',
      '  size: 20',
      '  nested:',
      '    adress: x',
      '',
    ].join('\n'),
    'apiVersion: 1\nkind: thing\nmetadata: { nam: "a b", labels: { n: 1 } }\n',
  );
  t.deepEqual(problemLines(resources).sort(), [
    'a.yaml:11: /apiVersion: must be svc/v1',
    'a.yaml:11: /spec: is required',
    'a.yaml:12: /kind: must be the name of a kind, like Model',
    'a.yaml:13: /metadata/labels/n: must be a text of at most 1000 characters; quote numbers',
    'a.yaml:13: /metadata/nam: is not known here, did you mean name?',
    'a.yaml:13: /metadata/name: is required, and must be 1 to 63 letters, digits, dots, underscores and dashes, and begin with a letter or digit',
    'a.yaml:6: /spec/sise: is not known here, did you mean size?',
    'a.yaml:7: /spec/size: must be <= 9',
    'a.yaml:8: /spec/nested/address: is required',
    'a.yaml:9: /spec/nested/adress: is not known here, did you mean address?',
  ]);
});

test('defaults of the schema are filled in, and what is built from is frozen', async (t) => {
  const { put, things } = await started(t);
  await put('a.yaml', thing('a', { text: 'one' }));
  const { resource } = things.view.list()[0]!;
  t.deepEqual(resource.spec, { text: 'one', size: 1 });
  t.true(Object.isFrozen(resource.spec));
});

test('of two documents that declare one resource the first in the order of files counts', async (t) => {
  const { put, things, resources } = await started(t);
  await put('b.yaml', thing('x', { text: 'of b' }));
  await put('a.yaml', '# first\n', thing('x', { text: 'of a' }));
  t.deepEqual(liveTexts(things), { x: 'of a' });
  t.deepEqual(problemLines(resources), [
    'b.yaml:4: /metadata/name: Thing x is declared in a.yaml:3 already; this one, in b.yaml, does not count',
  ]);
  await put('a.yaml', '# nothing\n');
  t.deepEqual(liveTexts(things), { x: 'of b' });
  t.deepEqual(problemLines(resources), []);
});

test('a circle of references is refused with the way around it, and others that are not in it live', async (t) => {
  const { put, things, resources } = await started(t);
  await put(
    'a.yaml',
    thing('a', { text: 'a', needs: ['b'] }),
    thing('b', { text: 'b', likes: ['c'] }),
    thing('c', { text: 'c', needs: ['a'] }),
    thing('self', { text: 'self', needs: ['self'] }),
    thing('d', { text: 'd' }),
    thing('after', { text: 'after', needs: ['a'] }),
  );
  t.deepEqual(liveTexts(things), { d: 'd' });
  t.deepEqual(problemLines(resources), [
    'a.yaml:5: /spec/needs/0: closes a circle: Thing/a → Thing/b → Thing/c → Thing/a',
    'a.yaml:11: /spec/likes/0: closes a circle: Thing/b → Thing/c → Thing/a → Thing/b',
    'a.yaml:17: /spec/needs/0: closes a circle: Thing/c → Thing/a → Thing/b → Thing/c',
    'a.yaml:23: /spec/needs/0: closes a circle: Thing/self → Thing/self',
    'a.yaml:35: /spec/needs/0: names the Thing a, which is not usable, see a.yaml:1',
  ]);
});

test('lazy references may form circles, and only have to lead somewhere', async (t) => {
  const { put, things, resources, built } = await started(t);
  await put('a.yaml', thing('a', { text: 'a', mentions: ['b'] }), thing('b', { text: 'b', mentions: ['a'] }));
  t.deepEqual(liveTexts(things), { a: 'a', b: 'b' });
  await put(
    'a.yaml',
    thing('a', { text: 'a', mentions: ['b'] }),
    thing('b', { text: 'b2', mentions: ['c'] }),
  );
  t.deepEqual(problemLines(resources), ['a.yaml:11: /spec/mentions/0: there is no Thing with the name c']);
  t.deepEqual(liveTexts(things), { a: 'a', b: 'b' });
  t.deepEqual(built, ['a:a', 'b:b']);
});

test('what names a changed resource is built anew, in the same turn', async (t) => {
  const { put, things, built, disposed } = await started(t);
  await put('leaf.yaml', thing('leaf', { text: 'one' }));
  await put(
    'rest.yaml',
    thing('mid', { text: 'mid', needs: ['leaf'] }),
    thing('top', { text: 'top', likes: ['mid'] }),
  );
  await put('other.yaml', thing('other', { text: 'other' }));
  const seen: string[] = [];
  things.view.onChange(() => {
    const top = things.view.get('top')!;
    seen.push(`${things.view.get('leaf')!.text} ${top.parts[0]!.parts[0]!.text}`);
    t.is(top.parts[0], things.view.get('mid'));
  });
  await put('leaf.yaml', thing('leaf', { text: 'two' }));
  t.deepEqual(seen, ['two two']);
  t.deepEqual(built.slice(4), ['leaf:two', 'mid:mid', 'top:top']);
  await until(() => disposed.length === 3, DEADLINE);
  t.deepEqual(disposed, ['top', 'mid', 'one']);
});

test('an optional reference follows what comes and goes', async (t) => {
  const { put, things } = await started(t);
  await put('a.yaml', thing('a', { text: 'a', likes: ['b'] }));
  t.deepEqual(things.view.get('a')!.parts, []);
  await put('b.yaml', thing('b', { text: 'b' }));
  t.is(things.view.get('a')!.parts[0]?.text, 'b');
  await put('b.yaml', '# gone\n');
  t.deepEqual(things.view.get('a')!.parts, []);
});

test('what names a resource that is gone keeps what it was built with, undisposed, until it is good again', async (t) => {
  const { put, things, resources, disposed } = await started(t);
  await put('leaf.yaml', thing('leaf', { text: 'one' }));
  await put('top.yaml', thing('top', { text: 'top', needs: ['leaf'] }));
  await put('leaf.yaml', '# gone\n');
  t.deepEqual(liveTexts(things), { top: 'top' });
  t.false(things.view.get('top')!.parts[0]!.isDisposed);
  t.deepEqual(problemLines(resources), ['top.yaml:5: /spec/needs/0: there is no Thing with the name leaf']);
  await put('leaf.yaml', thing('leaf', { text: 'new' }));
  t.is(things.view.get('top')!.parts[0]!.text, 'new');
  await until(() => disposed.length === 2, DEADLINE);
  t.deepEqual(disposed, ['top', 'one']);
});

test('a reference to what is bad now leads to its last good version', async (t) => {
  const { put, things, resources } = await started(t);
  await put('leaf.yaml', thing('leaf', { text: 'one' }));
  await put('leaf.yaml', 'nonsense');
  await put('top.yaml', thing('top', { text: 'top', needs: ['leaf'] }));
  t.is(things.view.get('top')!.parts[0], things.view.get('leaf'));
  t.is(problemLines(resources).length, 1);
});

test('who holds a version keeps it until he gives it back, and new holders get the new one', async (t) => {
  const { put, things, disposed } = await started(t);
  await put('leaf.yaml', thing('leaf', { text: 'leaf' }));
  await put('a.yaml', thing('a', { text: 'one', needs: ['leaf'] }));
  const lease = things.view.acquire('a')!;
  const second = things.view.acquire('a')!;
  await put('a.yaml', thing('a', { text: 'two' }));
  await put('leaf.yaml', '# gone\n');
  {
    using fresh = things.view.acquire('a')!;
    t.is(fresh.value.text, 'two');
    t.true(fresh.generation > lease.generation);
  }
  lease.release();
  lease.release();
  t.deepEqual([lease.value.isDisposed, lease.value.parts[0]!.isDisposed, disposed], [false, false, []]);
  second.release();
  await until(() => disposed.length === 2, DEADLINE);
  t.deepEqual(disposed, ['one', 'leaf']);
  t.is(things.view.acquire('nobody'), undefined);
});

test('a version that is held longer than the drain time is ended, and a line says so', async (t) => {
  const { put, things, lines } = await started(t, { times: { drain: 30 } });
  await put('a.yaml', thing('a', { text: 'one' }));
  const lease = things.view.acquire('a')!;
  await put('a.yaml', thing('a', { text: 'two' }));
  await until(() => lease.value.isDisposed, DEADLINE);
  t.true(lines.some((line) => line.includes('is still held') && line.includes('Thing/a')));
  lease.release();
  t.false(things.view.get('a')!.isDisposed);
});

test('a build that hangs is given up, its late value is disposed, and nothing else waits for ever', async (t) => {
  const late = Promise.withResolvers<Thing>();
  const disposed: Thing[] = [];
  const over: Partial<ThingKind> = {
    build: ({ spec }) =>
      spec.text === 'hang' ? late.promise : { text: spec.text, parts: [], isDisposed: false },
    dispose: (value) => void disposed.push(value),
  };
  const { put, things, resources } = await started(t, { over, times: { build: 50 } });
  await put('a.yaml', thing('a', { text: 'hang' }), thing('b', { text: 'b' }));
  t.deepEqual(liveTexts(things), { b: 'b' });
  t.deepEqual(problemLines(resources), [
    'a.yaml:1: : could not be built: building it did not end within 0.05 s',
  ]);
  late.resolve({ text: 'late', parts: [], isDisposed: false });
  await until(() => disposed.length === 1, DEADLINE);
  t.is(disposed[0]!.text, 'late');
});

test('what could not be built is not tried at each change of another file, but at a reload and after a pause', async (t) => {
  let tries = 0;
  let works = false;
  const over: Partial<ThingKind> = {
    build: ({ spec }) => {
      if (spec.text !== 'flaky') return { text: spec.text, parts: [], isDisposed: false };
      tries += 1;
      if (!works) throw new Error('the other side is away');
      return { text: spec.text, parts: [], isDisposed: false };
    },
  };
  const clock = manualClock();
  const times = { rescan: 20, retry: { first: 1_000, most: 1_500 } };
  const { folder, things, resources } = await started(t, { over, times, clock });
  await writeFile(path.join(folder, 'a.yaml'), thing('a', { text: 'flaky' }));
  await until(() => tries === 1, DEADLINE);
  await writeFile(path.join(folder, 'b.yaml'), thing('b', { text: 'b' }));
  await until(() => things.view.get('b') !== undefined, DEADLINE);
  t.is(tries, 1);
  clock.advance(1_000);
  await until(() => tries === 2, DEADLINE);
  await resources.reload();
  t.is(tries, 3);
  works = true;
  clock.advance(1_500);
  await until(() => things.view.get('a') !== undefined, DEADLINE);
  t.is(tries, 4);
  t.deepEqual(problemLines(resources), []);
});

test('a build may name the lines of what it did not like', async (t) => {
  const over: Partial<ThingKind> = {
    build: () => {
      const errors = [{ pointer: '/spec/text', message: 'nobody answers there' }];
      throw new GatewayError({ code: 'x', kind: 'upstream', title: 'x' }, undefined, { errors });
    },
  };
  const { put, resources } = await started(t, { over });
  await put('a.yaml', 'apiVersion: svc/v1\nkind: Thing\nmetadata: {name: a}\nspec:\n\n  text: x\n');
  t.deepEqual(problemLines(resources), ['a.yaml:6: /spec/text: nobody answers there']);
});

test('what a kind throws while it checks is told, and no credential in it', async (t) => {
  const over: Partial<ThingKind> = {
    check: () => {
      throw new Error('refused by https://me:hunter22@there.example');
    },
  };
  const { put, resources } = await started(t, { over });
  await put('a.yaml', thing('a', { text: 'x' }));
  t.regex(problemLines(resources)[0]!, /could not be checked: refused by https:/);
  t.notRegex(problemLines(resources)[0]!, /hunter22/);
});

test('resolving what was not named is a mistake of the kind, and is told as one', async (t) => {
  const over: Partial<ThingKind> = {
    build: (_resource, { resolve }) => resolve<Thing>('Thing', 'other')!,
  };
  const { put, resources } = await started(t, { over });
  await put('a.yaml', thing('a', { text: 'x' }));
  t.regex(problemLines(resources)[0]!, /Thing\/a resolves Thing\/other, which its kind's references/);
});

test('alias bombs are refused', async (t) => {
  const { put, resources, things } = await started(t);
  const levels = Array.from(
    { length: 12 },
    (_, at) => `l${at + 1}: &l${at + 1} [${`*l${at}, `.repeat(9)}*l${at}]`,
  );
  await put('bomb.yaml', `l0: &l0 x\n${levels.join('\n')}\n`);
  await put('a.yaml', thing('a', { text: 'x' }));
  t.regex(
    problemLines(resources).at(-1)!,
    /bomb\.yaml:1: : its aliases are unknown, circular, or more than 100/,
  );
  t.deepEqual(liveTexts(things), { a: 'x' });
});

test('a listener that fails hinders nobody, and one that was taken back is not called', async (t) => {
  const { put, things, lines } = await started(t);
  let calls = 0;
  things.view.onChange(() => {
    throw new Error('listener');
  });
  const undo = things.view.onChange(() => {
    calls += 1;
  });
  await put('a.yaml', thing('a', { text: 'one' }));
  undo();
  await put('a.yaml', thing('a', { text: 'two' }));
  t.is(calls, 1);
  t.true(lines.some((line) => line.includes('a listener to changes of resources failed')));
});

test('closing disposes everything, once', async (t) => {
  const { put, things, resources, disposed } = await started(t);
  await put('a.yaml', thing('a', { text: 'a' }), thing('b', { text: 'b', needs: ['a'] }));
  const lease = things.view.acquire('a');
  await resources.close();
  await resources.close();
  t.deepEqual(disposed.toSorted(), ['a', 'b']);
  t.deepEqual(things.view.list(), []);
  lease?.release();
});
