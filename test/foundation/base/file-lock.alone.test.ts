import files, { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';
import { whileLocked } from '../../../foundation/base/file-lock.ts';
import { until } from '../../support/until.ts';

test('of two that find a lock abandoned one takes it, however late the other removes it', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'lock-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const lock = path.join(folder, '.target.lock');
  await writeFile(lock, '');

  let [looks, removals, entered, inside, most] = [0, 0, 0, 0, 0];
  const others = (count: number) => {
    const before = looks;
    return () => looks > before + count;
  };
  const { stat, unlink } = files;
  files.stat = ((...given: Parameters<typeof stat>) => {
    looks += 1;
    return stat(...given);
  }) as typeof stat;
  files.unlink = async (name) => {
    if (name === lock) {
      removals += 1;
      // The first one waits for the other one's decision, and that one until the first has the lock.
      const hasLooked = others(2);
      if (removals === 1) await until(() => removals > 1 || hasLooked());
      else await until(() => entered > 0);
    }
    await unlink(name);
  };
  syncBuiltinESMExports();
  t.teardown(() => {
    Object.assign(files, { stat, unlink });
    syncBuiltinESMExports();
  });
  const work = async () => {
    entered += 1;
    inside += 1;
    most = Math.max(most, inside);
    const hasLooked = others(2);
    // Until the other one has come in as well, or has looked at the lock in vain; the last one is alone.
    await until(() => entered > 1 || hasLooked());
    inside -= 1;
  };
  await Promise.all([1, 2].map(() => whileLocked(path.join(folder, 'target'), work, Error)));
  t.is(most, 1);
  t.deepEqual(await readdir(folder), []);
});
