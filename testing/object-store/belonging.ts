import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { allKeys, type Checks } from './kit.ts';

/** A tenant sees nothing of another one. */
export function belongingChecks({ each, form }: Checks): void {
  each('a tenant sees and deletes nothing of another one', async () => {
    const id = `t-${randomUUID()}`;
    const [one, two] = [form.objects().forTenant(id), form.objects().forTenant(`${id}2`)];
    await one.put('SOUL.md', 'one');
    await two.put('SOUL.md', 'two');
    await two.put('secret', 'two');
    assert.equal(await one.text('SOUL.md', 10), 'one');
    assert.equal(await one.head('secret'), undefined);
    assert.deepEqual(await allKeys(one, '', 10), ['SOUL.md']);
    assert.deepEqual(await allKeys(one, '2', 10), []);
    assert.deepEqual(await one.deleteAll(''), { deleted: 1, bytes: 3 });
    assert.deepEqual(await allKeys(two, '', 10), ['SOUL.md', 'secret']);
    for (const bad of ['', '.', '..', '_system', 'a/b', '../x', 'a\\b', 'x'.repeat(65), 'a\n']) {
      assert.throws(() => form.objects().forTenant(bad), { code: 'objects.invalid-key' }, bad);
    }
  });

  each('the whole store is seen with the tenants in the keys', async () => {
    const id = `t-${randomUUID()}`;
    const all = form.objects().all();
    await form.objects().forTenant(id).put('files/a', 'x');
    await all.put(`${id}/files/b`, 'y');
    await all.put(`_system/${id}`, 'z');
    assert.equal(await form.objects().forTenant(id).text('files/b', 10), 'y');
    assert.deepEqual(await allKeys(all, `${id}/`, 10), [`${id}/files/a`, `${id}/files/b`]);
    assert.equal((await all.list(`_system/${id}`)).objects.length, 1);
    assert.ok((await all.list('')).objects.length > 0);
    const longest = `${id}/${'k'.repeat(99)}${`/${'k'.repeat(99)}`.repeat(8)}`;
    assert.equal((await all.put(longest, 'long')).key, longest);
    for (const key of ['alone', '/a', '_other/a', `../${id}/a`, '-a/b']) {
      await assert.rejects(all.put(key, 'x'), { code: 'objects.invalid-key' }, key);
    }
    await assert.rejects(all.deleteAll(''), { code: 'objects.invalid-key' });
    assert.equal((await all.deleteAll(`${id}/`)).deleted, 3);
    assert.equal(await all.delete(`_system/${id}`), true);
  });

  each('a store that works is ready', async () => {
    assert.equal(form.objects().available, true);
    await form.objects().check(AbortSignal.timeout(20_000));
    const reason = new Error('no time');
    await assert.rejects(form.objects().check(AbortSignal.abort(reason)), (error) => error === reason);
  });
}
