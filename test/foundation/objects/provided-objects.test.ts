import test from 'ava';
import { objectStoreConformance } from '../../../testing/index.ts';
import { boxStore } from './box-store.ts';

const box = boxStore();

for (const { title, run } of objectStoreConformance(() => box)) {
  test.serial(title, async (t) => {
    await t.notThrowsAsync(run);
  });
}

test('the checks fail for a store that breaks a promise', async (t) => {
  const overwriting = { ...boxStore(), name: 'plugin/acme/bad' };
  const { put } = overwriting;
  overwriting.put = (key, body, options) =>
    put(key, body, { ...options, ifAbsent: false, ifMatch: undefined });
  const failed: string[] = [];
  for (const { title, run } of objectStoreConformance(() => overwriting))
    if (title.startsWith('of several')) await run().catch(() => failed.push(title));
  t.deepEqual(failed, [
    'of several that store where nothing is, one wins',
    'of several that replace one version, one wins',
  ]);
});
