import { randomUUID } from 'node:crypto';
import { allKeys, type Checks } from './kit.ts';

/** A tenant sees nothing of another one. */
export function belongingChecks({ each, form }: Checks): void {
  each('a tenant sees and deletes nothing of another one', async (t) => {
    const id = `t-${randomUUID()}`;
    const [one, two] = [form.objects().forTenant(id), form.objects().forTenant(`${id}2`)];
    await one.put('SOUL.md', 'one');
    await two.put('SOUL.md', 'two');
    await two.put('secret', 'two');
    t.is(await one.text('SOUL.md', 10), 'one');
    t.is(await one.head('secret'), undefined);
    t.deepEqual(await allKeys(one, '', 10), ['SOUL.md']);
    t.deepEqual(await allKeys(one, '2', 10), []);
    t.deepEqual(await one.deleteAll(''), { deleted: 1, bytes: 3 });
    t.deepEqual(await allKeys(two, '', 10), ['SOUL.md', 'secret']);
    for (const bad of ['', '.', '..', '_system', 'a/b', '../x', 'a\\b', 'x'.repeat(65), 'a\n']) {
      t.throws(() => form.objects().forTenant(bad), { code: 'objects.invalid-key' }, bad);
    }
  });

  each('the whole store is seen with the tenants in the keys', async (t) => {
    const id = `t-${randomUUID()}`;
    const all = form.objects().all();
    await form.objects().forTenant(id).put('files/a', 'x');
    await all.put(`${id}/files/b`, 'y');
    await all.put(`_system/${id}`, 'z');
    t.is(await form.objects().forTenant(id).text('files/b', 10), 'y');
    t.deepEqual(await allKeys(all, `${id}/`, 10), [`${id}/files/a`, `${id}/files/b`]);
    t.is((await all.list(`_system/${id}`)).objects.length, 1);
    t.true((await all.list('')).objects.length > 0);
    const longest = `${id}/${'k'.repeat(99)}${`/${'k'.repeat(99)}`.repeat(8)}`;
    t.is((await all.put(longest, 'long')).key, longest);
    for (const key of ['alone', '/a', '_other/a', `../${id}/a`, '-a/b']) {
      await t.throwsAsync(all.put(key, 'x'), { code: 'objects.invalid-key' }, key);
    }
    await t.throwsAsync(all.deleteAll(''), { code: 'objects.invalid-key' });
    t.is((await all.deleteAll(`${id}/`)).deleted, 3);
    t.true(await all.delete(`_system/${id}`));
  });

  each('a store that works is ready', async (t) => {
    t.true(form.objects().available);
    await form.objects().check(AbortSignal.timeout(20_000));
    const reason = new Error('no time');
    t.is(await t.throwsAsync(form.objects().check(AbortSignal.abort(reason))), reason);
  });
}
