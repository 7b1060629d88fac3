import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import type { Checks } from './kit.ts';

/** What is stored is whole, and comes back. */
export function storingChecks({ each }: Checks): void {
  each('what is stored comes back, with what is known of it', async (t, space) => {
    const bodies = {
      string: 'grüße',
      buffer: Buffer.from('grüße'),
      array: new Uint8Array(Buffer.from('-grüße')).subarray(1),
      stream: Readable.from([Buffer.from('gr'), Buffer.from('üße')]),
      text: Readable.from(['gr', 'üße']),
    };
    for (const [key, body] of Object.entries(bodies)) {
      const before = Date.now();
      const put = await space.put(key, body, { contentType: 'text/markdown; charset=utf-8' });
      const found = await space.get(key);
      t.is(await text(found!.body), 'grüße');
      t.deepEqual(await space.head(key), found!.info);
      const { modifiedAt, ...info } = found!.info;
      t.deepEqual(info, { key, size: 7, etag: put.etag, contentType: 'text/markdown; charset=utf-8' });
      t.regex(put.etag, /^[^"]+$/);
      t.is(put.size, 7);
      t.is(put.key, key);
      t.true(Math.abs(modifiedAt.getTime() - before) < 20_000);
      t.true(Math.abs(put.modifiedAt.getTime() - before) < 20_000);
    }
  });

  each('an object without bytes is an object', async (t, space) => {
    await space.put('empty', '');
    await space.put('empty-stream', Readable.from([]));
    for (const key of ['empty', 'empty-stream']) {
      t.is((await space.head(key))?.size, 0);
      t.is(await space.text(key, 0), '');
      t.is((await buffer((await space.get(key))!.body)).length, 0);
    }
  });

  each('an object without a type is a sequence of bytes', async (t, space) => {
    await space.put('a', 'a');
    t.is((await space.head('a'))?.contentType, 'application/octet-stream');
  });

  each('a content type that no header can carry is refused', async (t, space) => {
    for (const contentType of ['', 'text/plain\r\nx: y', 'täxt', 'x'.repeat(151)]) {
      await t.throwsAsync(space.put('a', 'a', { contentType }), { code: 'objects.invalid-content-type' });
    }
    const longest = `text/${'"'.repeat(145)}`;
    t.is((await space.put('a', 'a', { contentType: longest })).contentType, longest);
    t.is((await space.head('a'))?.contentType, longest);
  });

  each('what is not there is undefined, and deleting it says so', async (t, space) => {
    t.is(await space.get('nothing'), undefined);
    t.is(await space.get('nothing', { range: { start: 5 } }), undefined);
    t.is(await space.head('no/thing'), undefined);
    t.is(await space.text('nothing', 10), undefined);
    t.false(await space.delete('nothing'));
    t.false(await space.delete('no/thing'));
    t.deepEqual(await space.list(''), { objects: [] });
    t.deepEqual(await space.list('no/thing/'), { objects: [] });
    t.deepEqual(await space.deleteAll('no/thing/'), { deleted: 0, bytes: 0 });
  });

  each('a deleted object is gone, its neighbours are not', async (t, space) => {
    for (const key of ['a', 'a/b', 'a/b/c']) await space.put(key, key);
    t.true(await space.delete('a/b'));
    t.false(await space.delete('a/b'));
    t.is(await space.head('a/b'), undefined);
    t.is(await space.text('a', 10), 'a');
    t.is(await space.text('a/b/c', 10), 'a/b/c');
    t.true(await space.delete('a/b/c'));
    t.true(await space.delete('a'));
    await space.put('a/b', 'again');
    t.is(await space.text('a/b', 10), 'again');
  });

  each('a second object replaces the first, its type and its etag', async (t, space) => {
    const first = await space.put('a', 'one', { contentType: 'text/plain' });
    const second = await space.put('a', 'three', { contentType: 'text/html' });
    t.not(first.etag, second.etag);
    const { etag, size, contentType } = (await space.head('a'))!;
    t.deepEqual({ etag, size, contentType }, { etag: second.etag, size: 5, contentType: 'text/html' });
    t.is(await space.text('a', 10), 'three');
  });
}
