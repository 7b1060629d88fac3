import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import type { Checks } from './kit.ts';

/** What is stored is whole, and comes back. */
export function storingChecks({ each }: Checks): void {
  each('what is stored comes back, with what is known of it', async (space) => {
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
      assert.equal(await text(found!.body), 'grüße');
      assert.deepEqual(await space.head(key), found!.info);
      const { modifiedAt, ...info } = found!.info;
      assert.deepEqual(info, { key, size: 7, etag: put.etag, contentType: 'text/markdown; charset=utf-8' });
      assert.match(put.etag, /^[^"]+$/);
      assert.equal(put.size, 7);
      assert.equal(put.key, key);
      assert.ok(Math.abs(modifiedAt.getTime() - before) < 20_000);
      assert.ok(Math.abs(put.modifiedAt.getTime() - before) < 20_000);
    }
  });

  each('an object without bytes is an object', async (space) => {
    await space.put('empty', '');
    await space.put('empty-stream', Readable.from([]));
    for (const key of ['empty', 'empty-stream']) {
      assert.equal((await space.head(key))?.size, 0);
      assert.equal(await space.text(key, 0), '');
      assert.equal((await buffer((await space.get(key))!.body)).length, 0);
    }
  });

  each('an object without a type is a sequence of bytes', async (space) => {
    await space.put('a', 'a');
    assert.equal((await space.head('a'))?.contentType, 'application/octet-stream');
  });

  each('a content type that no header can carry is refused', async (space) => {
    for (const contentType of ['', 'text/plain\r\nx: y', 'täxt', 'x'.repeat(151)]) {
      await assert.rejects(space.put('a', 'a', { contentType }), { code: 'objects.invalid-content-type' });
    }
    const longest = `text/${'"'.repeat(145)}`;
    assert.equal((await space.put('a', 'a', { contentType: longest })).contentType, longest);
    assert.equal((await space.head('a'))?.contentType, longest);
  });

  each('what is not there is undefined, and deleting it says so', async (space) => {
    assert.equal(await space.get('nothing'), undefined);
    assert.equal(await space.get('nothing', { range: { start: 5 } }), undefined);
    assert.equal(await space.head('no/thing'), undefined);
    assert.equal(await space.text('nothing', 10), undefined);
    assert.equal(await space.delete('nothing'), false);
    assert.equal(await space.delete('no/thing'), false);
    assert.deepEqual(await space.list(''), { objects: [] });
    assert.deepEqual(await space.list('no/thing/'), { objects: [] });
    assert.deepEqual(await space.deleteAll('no/thing/'), { deleted: 0, bytes: 0 });
  });

  each('a deleted object is gone, its neighbours are not', async (space) => {
    for (const key of ['a', 'a/b', 'a/b/c']) await space.put(key, key);
    assert.equal(await space.delete('a/b'), true);
    assert.equal(await space.delete('a/b'), false);
    assert.equal(await space.head('a/b'), undefined);
    assert.equal(await space.text('a', 10), 'a');
    assert.equal(await space.text('a/b/c', 10), 'a/b/c');
    assert.equal(await space.delete('a/b/c'), true);
    assert.equal(await space.delete('a'), true);
    await space.put('a/b', 'again');
    assert.equal(await space.text('a/b', 10), 'again');
  });

  each('a second object replaces the first, its type and its etag', async (space) => {
    const first = await space.put('a', 'one', { contentType: 'text/plain' });
    const second = await space.put('a', 'three', { contentType: 'text/html' });
    assert.notEqual(first.etag, second.etag);
    const { etag, size, contentType } = (await space.head('a'))!;
    assert.deepEqual({ etag, size, contentType }, { etag: second.etag, size: 5, contentType: 'text/html' });
    assert.equal(await space.text('a', 10), 'three');
  });
}
