import { execFileSync } from 'node:child_process';
import { mkdir, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { systemClock } from '../../../foundation/base/clock.ts';
import { openResources } from '../../../foundation/resources/open-resources.ts';
import { until } from '../../support/until.ts';
import { liveTexts, openFolder, problemLines, publishKinds, thing, thingKind } from './things.ts';

const DEADLINE = 20_000;

async function started(t: Parameters<typeof openFolder>[0], options?: Parameters<typeof openFolder>[1]) {
  const opened = await openFolder(t, {
    prepare: (folder) => mkdir(folder),
    ...options,
  });
  const log = { built: [] as string[], disposed: [] as string[] };
  const [things] = await publishKinds(opened, thingKind(log));
  return { ...opened, things: things!, ...log, inside: (name: string) => path.join(opened.folder, name) };
}

const live = ({ things }: { things: Parameters<typeof liveTexts>[0] }, wanted: Record<string, string>) =>
  until(() => JSON.stringify(liveTexts(things)) === JSON.stringify(wanted), DEADLINE);

test('a file that is saved is live, changed, moved and deleted while the gateway runs', async (t) => {
  const all = await started(t);
  await writeFile(all.inside('a.yaml'), thing('a', { text: 'one' }));
  await live(all, { a: 'one' });
  await writeFile(all.inside('a.yaml'), thing('a', { text: 'two' }));
  await live(all, { a: 'two' });
  await rename(all.inside('a.yaml'), all.inside('b.yml'));
  await until(() => all.resources.report().files[0]?.file === 'b.yml', DEADLINE);
  await unlink(all.inside('b.yml'));
  await live(all, {});
  t.deepEqual(all.built, ['a:one', 'a:two']);
  await until(() => all.disposed.length === 2, DEADLINE);
  t.deepEqual(all.disposed, ['one', 'two']);
});

test('a missing folder means nothing, and is picked up when it appears, also several levels of it', async (t) => {
  const { around, resources, log } = await openFolder(t);
  const folder = path.join(around, 'deep', 'er', 'agents.d');
  t.deepEqual(
    { exists: resources.report().exists, files: resources.report().files },
    { exists: false, files: [] },
  );
  const deep = await openResources({ folder, clock: systemClock, log, times: { rescan: 600_000 } });
  t.teardown(() => deep.close());
  const [things] = await publishKinds({ resources: deep, log }, thingKind());
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'a.yaml'), thing('a', { text: 'one' }));
  await until(() => things!.view.get('a')?.text === 'one', DEADLINE);
  await rm(path.join(around, 'deep'), { recursive: true });
  await until(() => things!.view.list().length === 0, DEADLINE);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'a.yaml'), thing('a', { text: 'again' }));
  await until(() => things!.view.get('a')?.text === 'again', DEADLINE);
});

test('what editors do in a save changes the resource once and never takes it away', async (t) => {
  // However slow the machine is: what is away comes back before that.
  const all = await started(t, { times: { gone: DEADLINE } });
  const file = all.inside('a.yaml');
  await writeFile(file, thing('a', { text: 'one' }));
  await live(all, { a: 'one' });
  let wasAway = false;
  all.things.view.onChange(() => {
    wasAway ||= all.things.view.get('a') === undefined;
  });
  const saves: ((text: string) => Promise<void>)[] = [
    // vim with a backup: probes the folder, moves the file away, writes a new one.
    async (text) => {
      await writeFile(all.inside('.a.yaml.swp'), 'b0VIM 9.0');
      await writeFile(all.inside('4913'), '');
      await unlink(all.inside('4913'));
      await rename(file, all.inside('a.yaml~'));
      await writeFile(file, text);
      await unlink(all.inside('a.yaml~'));
      await unlink(all.inside('.a.yaml.swp'));
    },
    // Emacs: a lock that is a link to nothing, an auto-save file, a backup.
    async (text) => {
      await symlink('user@host.1:1', all.inside('.#a.yaml'));
      await writeFile(all.inside('#a.yaml#'), 'half of it');
      await writeFile(all.inside('a.yaml~'), 'the old one');
      await writeFile(file, text);
      await unlink(all.inside('.#a.yaml'));
    },
    // A neighbour that is renamed over it.
    async (text) => {
      await writeFile(all.inside('a.yaml.tmp'), text);
      await rename(all.inside('a.yaml.tmp'), file);
    },
    // The same with a hidden neighbour.
    async (text) => {
      await writeFile(all.inside('.a.yaml.1b2c.tmp'), text);
      await rename(all.inside('.a.yaml.1b2c.tmp'), file);
    },
  ];
  for (const [index, save] of saves.entries()) {
    await save(thing('a', { text: `save ${index}` }));
    await live(all, { a: `save ${index}` });
  }
  t.false(wasAway);
  t.deepEqual(problemLines(all.resources), []);
  t.deepEqual(
    all.built.filter((text) => text.startsWith('a:save')),
    saves.map((_save, index) => `a:save ${index}`),
  );
});

test('an emptied file keeps what it held until it is deleted, and one of comments alone does not', async (t) => {
  const all = await started(t);
  await writeFile(all.inside('a.yaml'), thing('a', { text: 'one' }));
  await live(all, { a: 'one' });
  await writeFile(all.inside('a.yaml'), '');
  await until(() => problemLines(all.resources).length > 0, DEADLINE);
  t.deepEqual(problemLines(all.resources), ['a.yaml:: : is empty; delete it to remove what it held']);
  t.is(all.things.view.get('a')?.text, 'one');
  await writeFile(all.inside('a.yaml'), '# apiVersion: svc/v1\n');
  await live(all, {});
  t.deepEqual(problemLines(all.resources), []);
});

test('folders below are read, and may be moved in and out', async (t) => {
  const all = await started(t);
  await mkdir(all.inside('team/models'), { recursive: true });
  await writeFile(all.inside('team/models/a.yaml'), thing('a', { text: 'one' }));
  await live(all, { a: 'one' });
  await writeFile(all.inside('team/models/a.yaml'), thing('a', { text: 'two' }));
  await live(all, { a: 'two' });
  await rename(all.inside('team'), path.join(all.around, 'parked'));
  await live(all, {});
  await rename(path.join(all.around, 'parked'), all.inside('other'));
  await live(all, { a: 'two' });
  await writeFile(all.inside('other/models/b.yaml'), thing('b', { text: 'three' }));
  await live(all, { a: 'two', b: 'three' });
  t.deepEqual(
    all.resources.report().files.map(({ file }) => file),
    ['other/models/a.yaml', 'other/models/b.yaml'],
  );
  await mkdir(all.inside('.git'));
  await writeFile(all.inside('.git/c.yaml'), thing('c', { text: 'hidden' }));
  t.deepEqual((await all.resources.reload()).loaded, 2);
});

test('a ConfigMap as Kubernetes mounts it is followed through swaps of its data folder', async (t) => {
  const all = await started(t);
  const publish = async (version: string, texts: Record<string, string>) => {
    await mkdir(all.inside(version));
    for (const [name, text] of Object.entries(texts)) {
      await writeFile(all.inside(`${version}/${name}.yaml`), thing(name, { text }));
    }
    await symlink(version, all.inside('..data_tmp'));
    await rename(all.inside('..data_tmp'), all.inside('..data'));
  };
  await publish('..2030_01', { a: 'a1', b: 'b1' });
  for (const name of ['a', 'b']) await symlink(`..data/${name}.yaml`, all.inside(`${name}.yaml`));
  await live(all, { a: 'a1', b: 'b1' });
  const seen: string[] = [];
  all.things.view.onChange(() => void seen.push(JSON.stringify(liveTexts(all.things))));
  await publish('..2030_02', { a: 'a2', b: 'b2' });
  await rm(all.inside('..2030_01'), { recursive: true });
  await live(all, { a: 'a2', b: 'b2' });
  await publish('..2030_03', { a: 'a3', b: 'b3' });
  await rm(all.inside('..2030_02'), { recursive: true });
  await live(all, { a: 'a3', b: 'b3' });
  t.deepEqual(seen, ['{"a":"a2","b":"b2"}', '{"a":"a3","b":"b3"}']);
  t.deepEqual(problemLines(all.resources), []);
});

test('the folder itself may be a link, which is followed when it is changed', async (t) => {
  const { around, log } = await openFolder(t);
  for (const version of ['one', 'two']) {
    await mkdir(path.join(around, version));
    await writeFile(path.join(around, version, 'a.yaml'), thing('a', { text: version }));
  }
  await symlink('one', path.join(around, 'current'));
  const resources = await openResources({
    folder: path.join(around, 'current'),
    clock: systemClock,
    log,
    times: { rescan: 600_000 },
  });
  t.teardown(() => resources.close());
  const [things] = await publishKinds({ resources, log }, thingKind());
  t.is(things!.view.get('a')?.text, 'one');
  await symlink('two', path.join(around, 'next'));
  await rename(path.join(around, 'next'), path.join(around, 'current'));
  await until(() => things!.view.get('a')?.text === 'two', DEADLINE);
  await writeFile(path.join(around, 'two', 'a.yaml'), thing('a', { text: 'three' }));
  await until(() => things!.view.get('a')?.text === 'three', DEADLINE);
});

test('links that lead out of the folder, to nothing, or around in a circle are refused and hinder no file', async (t) => {
  const all = await started(t);
  await writeFile(path.join(all.around, 'secret.yaml'), thing('stolen', { text: 'no' }));
  await symlink('../secret.yaml', all.inside('out.yaml'));
  await mkdir(path.join(all.around, 'elsewhere'));
  await symlink('../elsewhere', all.inside('elsewhere'));
  await symlink('nowhere.yaml', all.inside('nothing.yaml'));
  await symlink('.', all.inside('self'));
  await mkdir(all.inside('sub'));
  await symlink('../sub', all.inside('sub/around'));
  await symlink('loop.yaml', all.inside('loop.yaml'));
  await writeFile(all.inside('good.yaml'), thing('good', { text: 'yes' }));
  await live(all, { good: 'yes' });
  t.deepEqual(problemLines(all.resources).sort(), [
    'elsewhere:: : is a link that leads out of the folder',
    'loop.yaml:: : cannot be read (ELOOP)',
    'nothing.yaml:: : is a link to nothing',
    'out.yaml:: : is a link that leads out of the folder',
    'self:: : is a link to a folder around it',
    'sub/around:: : is a link to a folder around it',
  ]);
});

test('what is no readable text is refused by name, and what it held before stays', async (t) => {
  const all = await started(t, { limits: { fileBytes: 1_000 } });
  for (const name of ['big', 'latin', 'pipe']) {
    await writeFile(all.inside(`${name}.yaml`), thing(name, { text: name }));
  }
  await live(all, { big: 'big', latin: 'latin', pipe: 'pipe' });
  await writeFile(all.inside('big.yaml'), `# ${'x'.repeat(1_000)}`);
  await writeFile(all.inside('latin.yaml'), Buffer.from([0x61, 0xe4]));
  execFileSync('mkfifo', [all.inside('pipe')]);
  await rename(all.inside('pipe'), all.inside('pipe.yaml'));
  await until(() => problemLines(all.resources).length === 3, DEADLINE);
  t.deepEqual(problemLines(all.resources), [
    'big.yaml:: : is larger than 1000 bytes',
    'latin.yaml:: : is not UTF-8',
    'pipe.yaml:: : is not a file',
  ]);
  t.deepEqual(liveTexts(all.things), { big: 'big', latin: 'latin', pipe: 'pipe' });
  t.deepEqual(
    all.resources
      .report()
      .files.map(({ documents }) => documents.map((one) => [one.status, one.servesLastGood])),
    [[['failed', true]], [['failed', true]], [['failed', true]]],
  );
});

test('a hundred saves at once end in the last state and few reloads', async (t) => {
  const all = await started(t);
  for (let save = 0; save < 100; save++)
    await writeFile(all.inside('a.yaml'), thing('a', { text: `v${save}` }));
  await live(all, { a: 'v99' });
  t.true(all.built.length < 40, `${all.built.length} builds`);
});

test('notices that never end put a reload off for a moment only', async (t) => {
  const all = await started(t, { times: { quiet: 200, busy: 400 } });
  const noise = setInterval(() => void writeFile(all.inside('noise.log'), 'x'), 20);
  t.teardown(() => clearInterval(noise));
  await writeFile(all.inside('a.yaml'), thing('a', { text: 'one' }));
  await live(all, { a: 'one' });
  t.pass();
});

test('without notices from the file system the folder is polled, and a line says so', async (t) => {
  const watch = () => {
    throw Object.assign(new Error('System limit for number of file watchers reached'), { code: 'ENOSPC' });
  };
  const all = await started(t, { watch, times: { rescan: 600_000, poll: 30 } });
  t.is(all.resources.report().watching, 'polling');
  await writeFile(all.inside('a.yaml'), thing('a', { text: 'one' }));
  await live(all, { a: 'one' });
  await unlink(all.inside('a.yaml'));
  await live(all, {});
  const told = all.lines.filter((line) => line.includes('cannot be watched'));
  t.is(told.length, 1);
  t.regex(told[0]!, /"code":"ENOSPC"/);
});

test('a notice that got lost is made good by the next look', async (t) => {
  const silent = () => ({ on: () => undefined, close: () => undefined }) as never;
  const all = await started(t, { watch: silent, times: { rescan: 50 } });
  await writeFile(all.inside('a.yaml'), thing('a', { text: 'one' }));
  await live(all, { a: 'one' });
  t.is(all.resources.report().watching, 'notices');
});

test('files and documents beyond the limits are reported, and the others are live', async (t) => {
  const all = await started(t, {
    limits: { files: 2, documents: 3, folders: 3, depth: 2, totalBytes: 2_000 },
  });
  const two = `${thing('a', { text: 'a' })}---\n${thing('b', { text: 'b' })}`;
  await writeFile(all.inside('1.yaml'), two);
  await writeFile(all.inside('2.yaml'), two);
  await all.resources.reload();
  t.deepEqual(problemLines(all.resources), ['2.yaml:: : is beyond 3 documents in all files']);
  await unlink(all.inside('2.yaml'));
  await writeFile(all.inside('3.yaml'), `# ${'x'.repeat(2_000)}`);
  await all.resources.reload();
  t.deepEqual(problemLines(all.resources), ['3.yaml:: : is beyond 2000 bytes in all files']);
  await writeFile(all.inside('2.yaml'), '# nothing');
  await all.resources.reload();
  t.deepEqual(problemLines(all.resources), ['.:: : holds more than 2 files']);
  t.deepEqual(liveTexts(all.things), { a: 'a', b: 'b' });
  await rm(all.inside('3.yaml'));
  await mkdir(all.inside('one/two'), { recursive: true });
  await all.resources.reload();
  t.deepEqual(problemLines(all.resources), ['one/two:: : lies below 2 folders, which is too deep']);
});
