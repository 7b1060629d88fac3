import { type ExecFileException, execFile, execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { systemClock } from '../../../foundation/base/clock.ts';
import { Follower, type FollowTimes, followStates, wayTo } from '../../../foundation/base/follow.ts';
import { settled, until } from '../../support/until.ts';

interface Context {
  /** Behind all links, and empty. */
  folder: string;
  inside: (...names: string[]) => string;
  stop: AbortController;
}
const test = anyTest as TestFn<Context>;

test.beforeEach(async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'follow-'));
  t.context = { folder, inside: (...names) => path.join(folder, ...names), stop: new AbortController() };
});
test.afterEach.always(async (t) => {
  t.context.stop.abort();
  await rm(t.context.folder, { recursive: true, force: true });
});

/** Without a notice nothing is reported before the test ends. */
const NOTICES_ONLY: FollowTimes = { quiet: 10, busy: 50, rescan: 600_000, poll: 600_000 };

function openFollower({ stop }: Context, times = NOTICES_ONLY) {
  let reports = 0;
  const troubles: string[] = [];
  const follower = new Follower({
    times,
    clock: systemClock,
    onChange: () => {
      reports += 1;
    },
    onTrouble: (codes) => troubles.push(codes),
  });
  stop.signal.addEventListener('abort', () => follower.close());
  /** What `act` is reported for, and nothing that was reported before. */
  const isReported = async (act: () => Promise<unknown>) => {
    const before = reports;
    await act();
    await until(() => reports > before);
  };
  return { follower, troubles, isReported, reports: () => reports };
}

/** The text of a file, wherever the path leads, each time it settles on another. */
function followText(file: string, { stop }: Context, poll = 600_000): (string | undefined)[] {
  const texts: (string | undefined)[] = [];
  followStates<string>({
    async look() {
      const text = await readFile(file, 'utf8').catch(() => undefined);
      return { states: new Map(text === undefined ? [] : [[file, text]]), targets: await wayTo(file) };
    },
    onChange: (_, text) => void texts.push(text),
    signal: stop.signal,
    settle: 20,
    poll,
  });
  return texts;
}

test('what is made, written and deleted in a folder is reported, what lies deeper is not', async (t) => {
  const { folder, inside } = t.context;
  await mkdir(inside('sub'));
  const { follower, isReported, reports } = openFollower(t.context);
  t.true(await follower.follow(new Map([[folder, undefined]])));
  t.false(await follower.follow(new Map([[folder, undefined]])));
  await isReported(() => writeFile(inside('a'), '1'));
  await isReported(() => writeFile(inside('a'), '2'));
  await isReported(() => rm(inside('a')));
  await settled(reports);
  const before = reports();
  await writeFile(inside('sub', 'deep'), '1');
  await settled(reports);
  t.is(reports(), before);
  t.false(follower.isPolling);
});

test('of a folder with named members only those are reported', async (t) => {
  const { folder, inside } = t.context;
  const { follower, isReported, reports } = openFollower(t.context);
  await follower.follow(new Map([[folder, new Set(['wanted'])]]));
  for (let i = 0; i < 20; i++) await writeFile(inside(`other-${i}`), '');
  await isReported(() => writeFile(inside('wanted'), '1'));
  t.is(reports(), 1);
  t.true(await follower.follow(new Map([[folder, new Set(['wanted', 'other'])]])));
  await isReported(() => writeFile(inside('other'), '1'));
});

test('a folder that is deleted and made anew is watched again at the next look', async (t) => {
  const { inside } = t.context;
  const folder = inside('it');
  await mkdir(folder);
  const { follower, isReported, troubles } = openFollower(t.context);
  const targets = new Map([[folder, undefined]]);
  await follower.follow(targets);
  await isReported(() => rm(folder, { recursive: true }));
  t.false(await follower.follow(targets), 'nothing is there');
  await mkdir(folder);
  t.true(await follower.follow(targets));
  await isReported(() => writeFile(path.join(folder, 'a'), '1'));
  await rename(folder, inside('moved'));
  await mkdir(folder);
  t.true(await follower.follow(targets), 'the path leads to another folder');
  await isReported(() => writeFile(path.join(folder, 'b'), '1'));
  t.deepEqual(troubles, []);
});

test('after the end nothing is reported, also from a watch that was just being opened', async (t) => {
  const { folder, inside } = t.context;
  const { follower, reports } = openFollower(t.context, { ...NOTICES_ONLY, rescan: 20 });
  const witness = openFollower(t.context);
  await witness.follower.follow(new Map([[folder, undefined]]));
  const opening = follower.follow(new Map([[folder, undefined]]));
  follower.close();
  await opening;
  const before = reports();
  await witness.isReported(() => writeFile(inside('a'), '1'));
  t.is(reports(), before);
});

test('the way to a file leads through links, and ends where nothing is', async (t) => {
  const { folder, inside } = t.context;
  await mkdir(inside('real', 'v1'), { recursive: true });
  await symlink('real', inside('link'));
  await symlink('v1', inside('real', 'current'));
  await writeFile(inside('real', 'v1', 'file'), '');
  await symlink('loop', inside('loop'));
  const below = async (...names: string[]) =>
    Object.fromEntries(
      [...(await wayTo(inside(...names)))].map(([at, deciding]) => [
        path.relative(folder, at),
        [...deciding],
      ]),
    );
  t.deepEqual(await below('link', 'current', 'file'), {
    '': ['link'],
    real: ['current'],
    'real/v1': ['file'],
  });
  t.deepEqual(await below('real', 'later', 'file'), { real: ['later'] });
  t.deepEqual(await below('loop'), { '': ['loop'] });
});

test('swaps of a ConfigMap are noticed, each of them', async (t) => {
  const { inside } = t.context;
  const publish = async (version: string) => {
    await mkdir(inside(version));
    await writeFile(inside(version, 'file'), version);
    await symlink(version, inside('..data_tmp'));
    await rename(inside('..data_tmp'), inside('..data'));
  };
  await publish('..1');
  await symlink('..data/file', inside('file'));
  const texts = followText(inside('file'), t.context);
  await until(() => texts.length === 1);
  for (const version of ['..2', '..3', '..4']) {
    await publish(version);
    await until(() => texts.at(-1) === version);
  }
  t.deepEqual(texts, ['..1', '..2', '..3', '..4']);
});

test('a file in folders that do not exist yet is noticed, and when they are deleted and made again', async (t) => {
  const { inside } = t.context;
  const texts = followText(inside('a', 'b', 'file'), t.context);
  for (const text of ['first', 'second']) {
    await mkdir(inside('a', 'b'), { recursive: true });
    await writeFile(inside('a', 'b', 'file'), text);
    await until(() => texts.at(-1) === text);
    await rm(inside('a'), { recursive: true });
    await until(() => texts.at(-1) === undefined);
  }
  t.deepEqual(texts, ['first', undefined, 'second', undefined]);
});

test('a look that fails is reported, and the next one is made', async (t) => {
  const { stop } = t.context;
  const failures: string[] = [];
  const states: (number | undefined)[] = [];
  followStates<number>({
    async look() {
      if (failures.length < 2) throw new Error('not now');
      return { states: new Map([['it', 1]]), targets: new Map() };
    },
    onChange: (_, state) => void states.push(state),
    onFailure: (error) => failures.push(String(error)),
    signal: stop.signal,
    settle: 5,
    poll: 10,
  });
  await until(() => states.length > 0);
  t.is(failures.length, 2);
});

/** A user namespace has a limit of its own, so that other tests keep their watches. */
const LIMIT = 'echo 3 > /proc/sys/user/max_inotify_watches && exec "$@"';
const asLimited = (...command: string[]) => ['-Ur', 'sh', '-c', LIMIT, 'sh', ...command];

function canLimitWatches(): boolean {
  try {
    execFileSync('unshare', asLimited('true'), { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

(canLimitWatches() ? test : test.skip)('where watches run out (ENOSPC) folders are polled', async (t) => {
  const { inside, stop } = t.context;
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  for (const name of names) await mkdir(inside(name));
  const script = `
    import { stat } from 'node:fs/promises';
    import { followStates } from ${JSON.stringify(import.meta.resolve('../../../foundation/base/follow.ts'))};
    const folders = ${JSON.stringify(names.map((name) => inside(name)))};
    const stop = new AbortController();
    const exists = (folder) => stat(folder + '/file').then(() => true, () => false);
    setTimeout(() => {}, 30_000);
    followStates({
      look: async () => ({
        states: new Map(await Promise.all(folders.map(async (folder) => [folder, await exists(folder)]))),
        targets: new Map(folders.map((folder) => [folder, undefined])),
      }),
      known: folders.map((folder) => [folder, false]),
      onChange: (folder) => console.log('changed', folder),
      onTrouble: (codes) => console.log('trouble', codes),
      signal: stop.signal, settle: 10, poll: 50,
    });`;
  const node = [process.execPath, '--input-type=module', '-e', script];
  let output = '';
  const child = execFile(
    'unshare',
    asLimited(...node),
    { signal: stop.signal },
    (error: ExecFileException | null) => {
      if (error !== null && error.name !== 'AbortError') output += String(error);
    },
  );
  child.stdout?.on('data', (text) => {
    output += text;
  });
  await until(() => output.includes('trouble'), 20_000);
  for (const name of names) await writeFile(inside(name, 'file'), '');
  await until(() => names.every((name) => output.includes(`changed ${inside(name)}\n`)), 20_000);
  t.regex(output, /^trouble ENOSPC\n/);
  t.is(output.split('trouble').length, 2, 'said once');
});
