import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { changeGatewayFile } from '../../../foundation/config/change-gateway-file.ts';
import { loadGatewayFile } from '../../../foundation/config/gateway-file.ts';
import {
  type GatewayFileEvent,
  type WatchTiming,
  watchGatewayFile,
} from '../../../foundation/config/watch-gateway-file.ts';
import { until } from '../../support/until.ts';

interface Context {
  folder: string;
  file: string;
  stop: AbortController;
}
const test = anyTest as TestFn<Context>;

test.beforeEach(async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'watch-gateway-'));
  t.context = { folder, file: path.join(folder, 'gateway.yaml'), stop: new AbortController() };
});
test.afterEach.always(async (t) => {
  t.context.stop.abort();
  await rm(t.context.folder, { recursive: true, force: true });
});

/** Polling is slower than the deadline of `until`, so that only the notices of the file system can be the reason. */
const NOTICES_ONLY: WatchTiming = { settle: 20, poll: 600_000 };
const POLLING: WatchTiming = { settle: 20, poll: 50 };

async function watched(t: ExecutionContext<Context>, timing = NOTICES_ONLY): Promise<GatewayFileEvent[]> {
  const events: GatewayFileEvent[] = [];
  const current = await loadGatewayFile(t.context.file);
  watchGatewayFile(current, (event) => events.push(event), t.context.stop.signal, timing);
  return events;
}

const yaml = (...disabled: string[]) =>
  `plugins: {${disabled.map((name) => ` ${name}: { enabled: false }`).join(',')} }\n`;

const disabledIn = (event: GatewayFileEvent | undefined) =>
  event?.kind === 'changed' ? [...event.file.plugins.keys()].join() : event?.kind;

test('an edit in place, a replaced file, a deleted and a created one are reported', async (t) => {
  const { file, folder } = t.context;
  await writeFile(file, yaml('a'));
  const events = await watched(t);
  const steps: [() => Promise<unknown>, string][] = [
    [() => writeFile(file, yaml('b')), 'b'],
    [
      () => writeFile(path.join(folder, 'new'), yaml('c')).then(() => rename(path.join(folder, 'new'), file)),
      'c',
    ],
    [() => writeFile(file, yaml('d')), 'd'],
    [() => unlink(file), ''],
    [() => writeFile(file, yaml('e')), 'e'],
  ];
  for (const [act, wanted] of steps) {
    await act();
    await until(() => disabledIn(events.at(-1)) === wanted);
  }
  t.is(events.length, steps.length);
});

test('a ConfigMap as Kubernetes mounts it is followed through swaps of its data folder', async (t) => {
  const { file, folder } = t.context;
  const publish = async (version: string, text: string) => {
    await mkdir(path.join(folder, version));
    await writeFile(path.join(folder, version, 'gateway.yaml'), text);
    await symlink(version, path.join(folder, '..data_tmp'));
    await rename(path.join(folder, '..data_tmp'), path.join(folder, '..data'));
  };
  await publish('..1', yaml('a'));
  await symlink('..data/gateway.yaml', file);
  const events = await watched(t);
  for (const [index, name] of ['b', 'c'].entries()) {
    await publish(`..${index + 2}`, yaml(name));
    await rm(path.join(folder, `..${index + 1}`), { recursive: true });
    await until(() => disabledIn(events.at(-1)) === name);
  }
  t.is(events.length, 2);
});

test('a link into another folder is followed, also when that folder is swapped', async (t) => {
  const { folder } = t.context;
  for (const [name, text] of [
    ['one', yaml('a')],
    ['two', yaml('b')],
  ] as const) {
    await mkdir(path.join(folder, 'elsewhere', name), { recursive: true });
    await writeFile(path.join(folder, 'elsewhere', name, 'gateway.yaml'), text);
  }
  await symlink('one', path.join(folder, 'elsewhere', 'current'));
  await mkdir(path.join(folder, 'app'));
  t.context.file = path.join(folder, 'app', 'gateway.yaml');
  await symlink('../elsewhere/current/gateway.yaml', t.context.file);
  const events = await watched(t, { settle: 20, poll: 100 });
  await symlink('two', path.join(folder, 'elsewhere', 'next'));
  await rename(path.join(folder, 'elsewhere', 'next'), path.join(folder, 'elsewhere', 'current'));
  await until(() => disabledIn(events.at(-1)) === 'b');
  await writeFile(path.join(folder, 'elsewhere', 'two', 'gateway.yaml'), yaml('c'));
  await until(() => disabledIn(events.at(-1)) === 'c');
  t.deepEqual(events.map(disabledIn), ['b', 'c']);
});

test('a folder that is made later is found by polling', async (t) => {
  t.context.file = path.join(t.context.folder, 'later', 'gateway.yaml');
  const events = await watched(t, POLLING);
  await mkdir(path.dirname(t.context.file));
  await writeFile(t.context.file, yaml('a'));
  await until(() => events.length > 0);
  t.deepEqual(events.map(disabledIn), ['a']);
});

test('a bad file is reported once, and the next good one always, even when nothing changed in the end', async (t) => {
  const { folder, file } = t.context;
  // Whole, so that no reading finds the file empty, however slow the machine is.
  const put = async (text: string) => {
    await writeFile(path.join(folder, 'new'), text);
    await rename(path.join(folder, 'new'), file);
  };
  await put(yaml('a'));
  const events = await watched(t, POLLING);
  await put('plugins: [\n');
  await until(() => events.length === 1);
  await put('plugins: [\n\n');
  await put('plugins:\n  a: { enabled: maybe }\n');
  await until(() => events.length === 2);
  await put(yaml('a'));
  await until(() => events.length === 3);
  t.deepEqual(events.map(disabledIn), ['invalid', 'invalid', 'a']);
  const [first] = events;
  t.regex(first?.kind === 'invalid' ? first.error.message : '', /gateway\.yaml:\d/);
});

test('comments, and a change that changes nothing, are not reported', async (t) => {
  const { file } = t.context;
  await writeFile(file, yaml('a'));
  const events = await watched(t);
  await writeFile(file, `# ours\n${yaml('a')}`);
  await changeGatewayFile(file, { plugins: { a: { enabled: false } } });
  await changeGatewayFile(file, { plugins: { b: { enabled: false } } });
  await until(() => events.length > 0);
  t.deepEqual(events.map(disabledIn), ['a,b']);
});

test('a burst of writes ends in the last state, and is not reported write by write', async (t) => {
  const { file } = t.context;
  const events = await watched(t);
  for (let i = 0; i < 100; i++) await writeFile(file, yaml(`p${i}`));
  await until(() => disabledIn(events.at(-1)) === 'p99');
  t.true(events.length < 20, `${events.length} events`);
});

test('a file that is truncated before it is written is never taken for an empty one', async (t) => {
  const { file } = t.context;
  await writeFile(file, yaml('a'));
  // Longer than a busy machine takes for the two writes.
  const events = await watched(t, { settle: 400, poll: 10 });
  for (let i = 0; i < 60; i++) {
    await writeFile(file, '');
    await wait(5);
    await writeFile(file, yaml('a', `p${i}`));
    await wait(20);
  }
  await until(() => disabledIn(events.at(-1)) === 'a,p59');
  t.false(events.some((event) => disabledIn(event) === ''));
});

test('a file that was emptied is invalid while it had said something, and all defaults where it had not', async (t) => {
  const { file } = t.context;
  await writeFile(file, yaml('a'));
  const events = await watched(t);
  await writeFile(file, '\n');
  await until(() => events.length === 1);
  await writeFile(file, '# nothing\n');
  await until(() => events.length === 2);
  await writeFile(file, '');
  await writeFile(file, yaml('b'));
  await until(() => events.length === 3);
  t.deepEqual(events.map(disabledIn), ['invalid', '', 'b']);
  const [first] = events;
  t.regex(
    first?.kind === 'invalid' ? first.error.message : '',
    /gateway\.yaml: is empty; write `plugins: \{\}`/,
  );
});

test('a change between reading the file and watching it is reported', async (t) => {
  const { file, stop } = t.context;
  await writeFile(file, yaml('a'));
  const current = await loadGatewayFile(file);
  await writeFile(file, yaml('b'));
  const events: GatewayFileEvent[] = [];
  watchGatewayFile(current, (event) => events.push(event), stop.signal, NOTICES_ONLY);
  await until(() => events.length > 0);
  t.deepEqual(events.map(disabledIn), ['b']);
});

test('nothing is reported after the signal', async (t) => {
  const { file, stop } = t.context;
  const events = await watched(t, POLLING);
  const witness = new AbortController();
  const seen: GatewayFileEvent[] = [];
  watchGatewayFile(await loadGatewayFile(file), (event) => seen.push(event), witness.signal, POLLING);
  stop.abort();
  await writeFile(file, yaml('a'));
  await until(() => seen.length === 1);
  witness.abort();
  t.is(events.length, 0);
});
