import assert from 'node:assert/strict';
import { BAD_KEYS, ODD_KEYS } from './keys.ts';
import { allKeys, type Checks } from './kit.ts';

/** Keys are kept apart, listed in the order of their bytes, and deleted by their beginnings. */
export function listingChecks({ each }: Checks): void {
  each('odd keys are all different, and listed in the order of their bytes', async (space) => {
    for (const key of ODD_KEYS) await space.put(key, `content of ${key}`);
    for (const key of ODD_KEYS) assert.equal(await space.text(key, 2000), `content of ${key}`, key);
    const sorted = ODD_KEYS.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    assert.deepEqual(
      (await space.list('')).objects.map(({ key }) => key),
      sorted,
    );
    for (const limit of [1, 7]) assert.deepEqual(await allKeys(space, '', limit), sorted);
    for (const prefix of ['a', 'a/', 'x', 'x'.repeat(80), 'x'.repeat(81), 'caf', 'Z/Z/', '日']) {
      assert.deepEqual(
        await allKeys(space, prefix, 2),
        sorted.filter((key) => key.startsWith(prefix)),
        prefix,
      );
    }
    assert.equal((await space.deleteAll('')).deleted, ODD_KEYS.length);
    assert.deepEqual((await space.list('')).objects, []);
  });

  each(
    'keys that could leave the tenant, or that no store can hold, are refused with the reason',
    async (space) => {
      for (const [key, message] of BAD_KEYS) {
        const expected = { code: 'objects.invalid-key', message };
        await assert.rejects(space.put(key, 'x'), expected);
        await assert.rejects(space.get(key), expected);
        await assert.rejects(space.head(key), expected);
        await assert.rejects(space.text(key, 1), expected);
        await assert.rejects(space.delete(key), expected);
      }
      for (const prefix of ['../', '/', 'a//', 'a/../', 'a\\', 'a\0']) {
        await assert.rejects(space.list(prefix), { code: 'objects.invalid-key' });
        await assert.rejects(space.deleteAll(prefix), { code: 'objects.invalid-key' });
      }
      await assert.rejects(space.list('', { after: '../a' }), { code: 'objects.invalid-key' });
    },
  );

  each('pages hold everything once, in order, though objects come and go', async (space) => {
    const keys = Array.from({ length: 25 }, (_, i) => `files/${String(i).padStart(2, '0')}`);
    for (const key of keys) await space.put(key, key);
    await space.put('other', 'x');
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await space.list('files/', { limit: 10, ...(after === undefined ? {} : { after }) });
      assert.ok(page.objects.length <= 10);
      seen.push(...page.objects.map(({ key }) => key));
      after = page.next;
      // What was listed already goes, and something comes before it: the next page is not moved by that.
      await space.delete(page.objects[0]!.key);
      await space.put(`files/${page.objects[1]!.key.slice(6)}-again`, 'x');
    } while (after !== undefined);
    assert.deepEqual(
      seen.filter((key) => !key.endsWith('-again')),
      keys,
    );
    const first = (await space.list('files/', { limit: 1 })).objects[0]!;
    assert.deepEqual(Object.keys(first).sort(), ['etag', 'key', 'modifiedAt', 'size']);
    assert.equal((await space.head(first.key))?.etag, first.etag);
    assert.deepEqual((await space.list('files/', { after: 'files/zz' })).objects, []);
    assert.equal((await space.list('', { after: 'files/zz' })).objects[0]?.key, 'other');
  });

  each('a page that ends with the last object has no next one', async (space) => {
    for (const key of ['a', 'b', 'c']) await space.put(key, key);
    assert.equal((await space.list('', { limit: 3 })).next, undefined);
    assert.equal((await space.list('', { limit: 2 })).next, 'b');
    assert.equal((await space.list('', { limit: 2, after: 'b' })).next, undefined);
    for (const limit of [0, 1001, 1.5, Number.NaN]) {
      await assert.rejects(space.list('', { limit }), RangeError);
    }
  });

  each('what begins with a prefix is deleted and counted, also beyond one batch', async (space) => {
    const keys = Array.from({ length: 1050 }, (_, i) => `many/${i % 7}/${i}`);
    for (let i = 0; i < keys.length; i += 25) {
      await Promise.all(keys.slice(i, i + 25).map((key) => space.put(key, 'xy')));
    }
    for (const key of ['manyother', 'mane', 'n']) await space.put(key, 'z');
    assert.deepEqual(await space.deleteAll('many/3/'), { deleted: 150, bytes: 300 });
    assert.deepEqual(await space.deleteAll('many/'), { deleted: 900, bytes: 1800 });
    assert.deepEqual(
      (await space.list('')).objects.map(({ key }) => key),
      ['mane', 'manyother', 'n'],
    );
    assert.deepEqual(await space.deleteAll('many'), { deleted: 1, bytes: 1 });
    assert.deepEqual(
      (await space.list('')).objects.map(({ key }) => key),
      ['mane', 'n'],
    );
  });
}
