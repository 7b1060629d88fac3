import assert from 'node:assert/strict';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { PutOptions } from '../../foundation/objects/objects.ts';
import { until } from '../until.ts';
import { type Checks, letters, MIB, race } from './kit.ts';

/** What is refused, given up or lost to another writer leaves nothing behind. */
export function refusingChecks({ each, noneUnfinished }: Checks): void {
  each(
    'a body above its limit is refused, nothing is stored, and its stream is left to the caller',
    async (space) => {
      await space.put('kept', 'old');
      for (const size of [101, 1000, 6 * MIB]) {
        const limit = Math.min(size - 1, 5.5 * MIB);
        const refused = { code: 'objects.too-large', message: new RegExp(`${limit} bytes`) };
        await assert.rejects(space.put('kept', Buffer.alloc(size), { limit }), refused);
        const stream = Readable.from(letters('\0', size), { objectMode: false });
        await assert.rejects(space.put('kept', stream, { limit }), refused);
        assert.equal(stream.destroyed, false);
        stream.destroy();
      }
      await assert.rejects(space.put('new', 'é', { limit: 1 }), { code: 'objects.too-large' });
      assert.equal(await space.text('kept', 10), 'old');
      assert.equal(await space.head('new'), undefined);
      assert.equal((await space.put('new', 'é', { limit: 2 })).size, 2);
      await noneUnfinished();
    },
  );

  each('an aborted write stores nothing and rejects with the reason', async (space) => {
    for (const sent of [10, 6 * MIB]) {
      const stop = new AbortController();
      const stream = new PassThrough();
      const put = space.put('a', stream, { signal: stop.signal });
      stream.write(Buffer.alloc(sent));
      await until(() => stream.readableLength === 0, 20_000);
      const reason = new Error('the client has gone');
      stop.abort(reason);
      await assert.rejects(put, (error) => error === reason);
      assert.equal(stream.destroyed, true);
      assert.equal(await space.head('a'), undefined);
    }
    const gone = AbortSignal.abort(new Error('before'));
    await assert.rejects(space.put('a', 'x', { signal: gone }), { message: 'before' });
    await assert.rejects(space.get('a', { signal: gone }), { message: 'before' });
    await noneUnfinished();
  });

  each('a stream that breaks off stores nothing and rejects with its error', async (space) => {
    for (const size of [10, 7 * MIB]) {
      const failing = Readable.from(
        (function* () {
          yield* letters('\0', size);
          throw new Error('the upload broke off');
        })(),
        { objectMode: false },
      );
      await assert.rejects(space.put('a', failing), { message: 'the upload broke off' });
      assert.equal(await space.head('a'), undefined);
    }
    await noneUnfinished();
  });

  each('of several that store where nothing is, one wins', async (space) => {
    for (const size of [3, 6 * MIB]) {
      const key = `contested-${size}`;
      const writers = Array.from({ length: 6 }, (_, i) => Buffer.alloc(size, `${i}`));
      const winners = await race(writers, 'objects.exists', (body) =>
        space.put(key, body, { ifAbsent: true }),
      );
      assert.equal(winners.length, 1);
      assert.ok((await buffer((await space.get(key))!.body)).equals(winners[0]!));
      await assert.rejects(space.put(key, 'late', { ifAbsent: true }), { code: 'objects.exists' });
      assert.equal(await space.delete(key), true);
      await space.put(key, 'after the deletion', { ifAbsent: true });
    }
    await noneUnfinished();
  });

  each('of several that replace one version, one wins', async (space) => {
    const { etag } = await space.put('a', 'first');
    const writers = Array.from({ length: 6 }, (_, i) => `${i}`);
    const winners = await race(writers, 'objects.changed', (body) => space.put('a', body, { ifMatch: etag }));
    assert.equal(winners.length, 1);
    assert.equal(await space.text('a', 10), winners[0]);
    await assert.rejects(space.put('a', 'late', { ifMatch: etag }), { code: 'objects.changed' });
    const now = (await space.head('a'))!.etag;
    assert.equal((await space.put('a', 'next', { ifMatch: now })).size, 4);
    await assert.rejects(space.put('none', 'x', { ifMatch: now }), { code: 'objects.changed' });
    assert.equal(await space.head('none'), undefined);
  });

  each('both conditions together are a mistake', async (space) => {
    const both: PutOptions = { ifAbsent: true, ifMatch: 'x' };
    await assert.rejects(space.put('a', 'x', both), TypeError);
    await assert.rejects(space.put('a', 'x', { limit: Number.NaN }), RangeError);
  });
}
