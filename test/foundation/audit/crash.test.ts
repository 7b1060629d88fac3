import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, rename, utimes } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { until } from '../../support/until.ts';
import { entry, FakeSink, startTrail, tempFolder } from './trail-kit.ts';

const PROGRAM = fileURLToPath(new URL('recording-process.ts', import.meta.url));

/** Runs the recording process until it has acknowledged `count` records, kills it, and returns what it acknowledged. */
async function recordAndKill(count: number, ...args: string[]): Promise<string[]> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve());
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      // An id and its line feed are 37 bytes.
      if (output.length >= count * 37) child.kill('SIGKILL');
    });
  });
  return output.slice(0, output.lastIndexOf('\n')).split('\n');
}

test('every record that was acknowledged before kill -9 is there after a restart', async (t) => {
  const directory = await tempFolder(t);
  const acknowledged = await recordAndKill(2_000, directory);
  t.true(acknowledged.length >= 2_000);
  const sink = new FakeSink();
  const { trail } = startTrail(t, directory, sink);
  t.true(await trail.flush(20_000));
  t.deepEqual(
    acknowledged.filter((id) => !sink.stored.has(id)),
    [],
  );
  // The turn that was cut short may have been written and not acknowledged any more.
  t.true(sink.stored.size - acknowledged.length <= 20);
  t.is(sink.repeated, 0);
  await trail.close(1_000);
  t.deepEqual(await readdir(directory), []);
});

test('records that were under way to the database when the process died are there too', async (t) => {
  const folder = await tempFolder(t);
  const [directory, storedFile] = [path.join(folder, 'journal'), path.join(folder, 'stored')];
  const acknowledged = await recordAndKill(5_000, directory, storedFile);
  const sink = new FakeSink();
  const { trail } = startTrail(t, directory, sink);
  t.true(await trail.flush(20_000));
  const stored = new Set([...readFileSync(storedFile, 'utf8').split('\n'), ...sink.stored.keys()]);
  t.deepEqual(
    acknowledged.filter((id) => !stored.has(id)),
    [],
  );
});

test('a process that died twice leaves nothing behind', async (t) => {
  const directory = await tempFolder(t);
  const first = await recordAndKill(200, directory);
  const second = await recordAndKill(200, directory);
  const sink = new FakeSink();
  const { trail } = startTrail(t, directory, sink);
  t.true(await trail.flush(20_000));
  t.deepEqual(
    [...first, ...second].filter((id) => !sink.stored.has(id)),
    [],
  );
});

test('processes that share a directory leave each other alone', async (t) => {
  const directory = await tempFolder(t);
  const [one, two] = [new FakeSink(), new FakeSink()];
  one.isAway = true;
  two.isAway = true;
  const first = startTrail(t, directory, one, { heartbeat: 5 }).trail;
  const second = startTrail(t, directory, two, { heartbeat: 5 }).trail;
  for (let i = 0; i < 20; i += 1) {
    first.record(entry({ userId: 'one' }));
    second.record(entry({ userId: 'two' }));
  }
  await until(() => first.stats().failures > 5 && second.stats().failures > 5);
  one.isAway = false;
  two.isAway = false;
  t.true((await first.flush(30_000)) && (await second.flush(5_000)));
  t.deepEqual(new Set([...one.stored.values()].map(({ userId }) => userId)), new Set(['one']));
  t.deepEqual(new Set([...two.stored.values()].map(({ userId }) => userId)), new Set(['two']));
  t.is(one.stored.size + two.stored.size, 40);
});

test('a running process takes over what another leaves behind', async (t) => {
  const directory = await tempFolder(t);
  const [away, sink] = [new FakeSink(), new FakeSink()];
  away.isAway = true;
  startTrail(t, directory, sink, { heartbeat: 5 });
  const leaving = startTrail(t, directory, away).trail;
  for (let i = 0; i < 20; i += 1) leaving.record(entry());
  await leaving.close(0);
  await until(() => sink.stored.size === 20);
  t.pass();
});

test('the journal of another machine is taken over only after a minute of silence', async (t) => {
  const directory = await tempFolder(t);
  const away = new FakeSink();
  away.isAway = true;
  const { trail } = startTrail(t, directory, away);
  trail.record(entry());
  await trail.close(0);
  const [left] = (await readdir(directory)) as [string];
  const foreign = path.join(directory, 'live.1.123.0123456789abcdef.foreign');
  await rename(path.join(directory, left), foreign);
  const recently = new Date(Date.now() - 50_000);
  await utimes(foreign, recently, recently);
  const sink = new FakeSink();
  await startTrail(t, directory, sink).trail.close(1_000);
  t.is(sink.stored.size, 0);
  const longAgo = new Date(Date.now() - 61_000);
  await utimes(foreign, longAgo, longAgo);
  await startTrail(t, directory, sink).trail.close(1_000);
  t.is(sink.stored.size, 1);
});

test('a process whose journal was taken away while it was held up loses nothing', async (t) => {
  const directory = await tempFolder(t);
  const sink = new FakeSink();
  sink.isAway = true;
  const { trail, log } = startTrail(t, directory, sink, { heartbeat: 50 });
  for (let i = 0; i < 10; i += 1) trail.record(entry());
  const [own] = (await readdir(directory)) as [string];
  await mkdir(path.join(directory, 'elsewhere'));
  await rename(path.join(directory, own), path.join(directory, 'elsewhere', own));
  for (let i = 0; i < 10; i += 1) trail.record(entry());
  await until(() => log.lines.some((line) => line.includes('beginning anew')));
  sink.isAway = false;
  trail.record(entry());
  t.true(await trail.flush(30_000));
  t.is(sink.stored.size, 21);
});
