import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type FileToFollow, followFile } from '../../../foundation/base/follow-file.ts';
import { until } from '../../support/until.ts';

async function setUp(t: ExecutionContext, settings: Partial<FileToFollow> = {}) {
  const folder = await mkdtemp(path.join(tmpdir(), 'follow-file-'));
  const stop = new AbortController();
  t.teardown(async () => {
    stop.abort();
    await rm(folder, { recursive: true });
  });
  const texts: (string | undefined)[] = [];
  const failures: string[] = [];
  const file = path.join(folder, 'words.txt');
  const follow = () =>
    followFile({
      path: file,
      onChange: (text) => void texts.push(text),
      onFailure: ({ message }) => failures.push(message.replace(folder, '')),
      signal: stop.signal,
      ...settings,
    });
  return { folder, file, texts, failures, follow, stop };
}

test('its text is taken over before followFile resolves, and after each change', async (t) => {
  const { file, texts, failures, follow, stop } = await setUp(t);
  await writeFile(file, 'one');
  await follow();
  t.deepEqual(texts, ['one']);
  await writeFile(file, 'two');
  await until(() => texts.length === 2);
  await rm(file);
  await until(() => texts.length === 3);
  await writeFile(`${file}.new`, 'three');
  await rename(`${file}.new`, file);
  await until(() => texts.length === 4);
  stop.abort();
  t.deepEqual(texts, ['one', 'two', undefined, 'three']);
  t.deepEqual(failures, []);
});

test('a file that is not there yet, behind a link that is swapped', async (t) => {
  const { folder, file, texts, follow } = await setUp(t);
  await symlink('first', file);
  await follow();
  t.deepEqual(texts, [undefined]);
  await writeFile(path.join(folder, 'second'), 'two');
  await symlink('second', `${file}.new`);
  await rename(`${file}.new`, file);
  await until(() => texts.at(-1) === 'two');
  t.is(texts.length, 2);
});

test('what onChange throws ends the first call, and is told of later ones, once', async (t) => {
  const words: string[] = [];
  const onChange = (text = '') => {
    if (text.startsWith('bad')) throw new TypeError(`${text} is no list`);
    words.push(text);
  };
  const { file, failures, follow } = await setUp(t, { onChange });
  await writeFile(file, 'bad');
  await t.throwsAsync(follow(), { message: 'bad is no list' });
  await writeFile(file, 'good');
  await follow();
  await writeFile(file, 'bad');
  await until(() => failures.length === 1);
  await writeFile(file, 'worse');
  await until(() => words.length === 2);
  await writeFile(file, 'bad');
  await until(() => failures.length === 2);
  // The last good content again: it is in force, and that is to be known.
  await writeFile(file, 'worse');
  await until(() => words.length === 3);
  t.deepEqual(words, ['good', 'worse', 'worse']);
  t.deepEqual(failures, ['bad is no list', 'bad is no list']);
});

test('what cannot be read, or is too large, is no change', async (t) => {
  const { folder, file, texts, failures, follow } = await setUp(t, { maxBytes: 4 });
  await writeFile(file, 'five!');
  await t.throwsAsync(follow(), { message: `${file} has more than 4 bytes` });
  await truncate(file, 4);
  await follow();
  await writeFile(file, 'five!');
  await until(() => failures.length === 1);
  await rm(file);
  execFileSync('mkfifo', [file]);
  await until(() => failures.length === 2);
  await rm(file);
  await writeFile(file, 'four');
  await until(() => texts.length === 2);
  t.deepEqual(texts, ['five', 'four']);
  t.deepEqual(failures, ['/words.txt has more than 4 bytes', '/words.txt is no file']);
  if (process.getuid?.() === 0) return t.log('root may read everything');
  await chmod(file, 0);
  await t.throwsAsync(follow(), { message: `${path.join(folder, 'words.txt')} cannot be read (EACCES)` });
});
