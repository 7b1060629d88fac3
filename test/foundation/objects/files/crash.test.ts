import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { isWhole } from '../../../support/sample.ts';
import { until } from '../../../support/until.ts';
import { freshFolder, openForTest } from '../open-for-test.ts';

const ROUNDS = isWhole ? 8 : 3;
const KEYS = ['a', 'a/b', 'deep/er/c'];

test('a process that is killed while it writes leaves whole objects, none older than what it had acknowledged', async (t) => {
  const folder = await freshFolder(t);
  const script = path.join(import.meta.dirname, 'crash-writer-process.ts');
  const { objects } = await openForTest(t, `file:${folder}`);
  const space = objects.forTenant('acme');
  for (let round = 0; round < ROUNDS; round += 1) {
    const writer = spawn(process.execPath, [script, folder, `${round * 1_000_000}`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let told = '\n';
    writer.stdout.setEncoding('utf8').on('data', (text: string) => {
      told += text;
    });
    // All that it said has been read then, which at its exit it need not have.
    const exited = once(writer, 'close');
    const lines = 10 + Math.floor(Math.random() * 60);
    const hasEnough = () =>
      told.split('\n').length > lines && KEYS.every((key) => told.includes(`\n${key} `));
    await until(hasEnough, 30_000);
    writer.kill('SIGKILL');
    await exited;
    const complete = told.slice(0, told.lastIndexOf('\n')).split('\n');
    for (const key of KEYS) {
      const last = complete.findLast((line) => line.startsWith(`${key} `))?.split(' ')[1] as string;
      const acknowledged = Math.abs(Number(last));
      const text = await space.text(key, 1_000_000);
      if (text === undefined) {
        // Gone: the deletion was acknowledged, or the next thing to do.
        t.true(last.startsWith('-') || acknowledged % 4 >= 2, `${key} ${last}`);
        continue;
      }
      const version = Number(text.slice(0, text.indexOf('\n')));
      t.is(text, `${version}\n`.repeat(3000 * (1 + (version % 5))));
      t.true(
        last.startsWith('-') ? version > acknowledged : version >= acknowledged,
        `${key} ${last} ${version}`,
      );
    }
    t.true((await space.list('')).objects.every(({ key }) => KEYS.includes(key)));
  }
  const unfinished = await readdir(path.join(folder, 'tmp'));
  t.log(`${unfinished.length} unfinished files after ${ROUNDS} kills`);
});

test('what a crash has left is deleted at the start once it is an hour old, and nothing younger', async (t) => {
  const folder = await freshFolder(t);
  const { objects } = await openForTest(t, `file:${folder}`);
  await objects.forTenant('acme').put('a', 'kept');
  const temporary = path.join(folder, 'tmp');
  for (const name of ['old', 'young']) await writeFile(path.join(temporary, name), 'x');
  const anHourAgo = Date.now() / 1000 - 3601;
  await utimes(path.join(temporary, 'old'), anHourAgo, anHourAgo);
  const { objects: next, logged } = await openForTest(t, `file:${folder}`);
  t.deepEqual(await readdir(temporary), ['young']);
  t.is(logged.length, 1);
  t.is(await next.forTenant('acme').text('a', 10), 'kept');
  t.deepEqual((await openForTest(t, `file:${folder}`)).logged, []);
});
