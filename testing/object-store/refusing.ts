import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { PutOptions } from '../../foundation/objects/objects.ts';
import { until } from '../until.ts';
import { type Checks, MIB, race, zeros } from './kit.ts';

/** What is refused, given up or lost to another writer leaves nothing behind. */
export function refusingChecks({ each, noneUnfinished }: Checks): void {
  each(
    'a body above its limit is refused, nothing is stored, and its stream is left to the caller',
    async (t, space) => {
      await space.put('kept', 'old');
      for (const size of [101, 1000, 6 * MIB]) {
        const limit = Math.min(size - 1, 5.5 * MIB);
        const refused = { code: 'objects.too-large', message: new RegExp(`${limit} bytes`) };
        await t.throwsAsync(space.put('kept', Buffer.alloc(size), { limit }), refused);
        const stream = Readable.from(zeros(size), { objectMode: false });
        await t.throwsAsync(space.put('kept', stream, { limit }), refused);
        t.false(stream.destroyed);
        stream.destroy();
      }
      await t.throwsAsync(space.put('new', 'é', { limit: 1 }), { code: 'objects.too-large' });
      t.is(await space.text('kept', 10), 'old');
      t.is(await space.head('new'), undefined);
      t.is((await space.put('new', 'é', { limit: 2 })).size, 2);
      await noneUnfinished();
    },
  );

  each('an aborted write stores nothing and rejects with the reason', async (t, space) => {
    for (const sent of [10, 6 * MIB]) {
      const stop = new AbortController();
      const stream = new PassThrough();
      const put = space.put('a', stream, { signal: stop.signal });
      stream.write(Buffer.alloc(sent));
      await until(() => stream.readableLength === 0, 20_000);
      const reason = new Error('the client has gone');
      stop.abort(reason);
      t.is(await t.throwsAsync(put), reason);
      t.true(stream.destroyed);
      t.is(await space.head('a'), undefined);
    }
    const gone = AbortSignal.abort(new Error('before'));
    await t.throwsAsync(space.put('a', 'x', { signal: gone }), { message: 'before' });
    await t.throwsAsync(space.get('a', { signal: gone }), { message: 'before' });
    await noneUnfinished();
  });

  each('a stream that breaks off stores nothing and rejects with its error', async (t, space) => {
    for (const size of [10, 7 * MIB]) {
      const failing = Readable.from(
        (function* () {
          yield* zeros(size);
          throw new Error('the upload broke off');
        })(),
        { objectMode: false },
      );
      await t.throwsAsync(space.put('a', failing), { message: 'the upload broke off' });
      t.is(await space.head('a'), undefined);
    }
    await noneUnfinished();
  });

  each('of several that store where nothing is, one wins', async (t, space) => {
    for (const size of [3, 6 * MIB]) {
      const key = `contested-${size}`;
      const writers = Array.from({ length: 6 }, (_, i) => Buffer.alloc(size, `${i}`));
      const winners = await race(t, writers, 'objects.exists', (body) =>
        space.put(key, body, { ifAbsent: true }),
      );
      t.is(winners.length, 1);
      t.true((await buffer((await space.get(key))!.body)).equals(winners[0]!));
      await t.throwsAsync(space.put(key, 'late', { ifAbsent: true }), { code: 'objects.exists' });
      t.true(await space.delete(key));
      await space.put(key, 'after the deletion', { ifAbsent: true });
    }
    await noneUnfinished();
  });

  each('of several that replace one version, one wins', async (t, space) => {
    const { etag } = await space.put('a', 'first');
    const writers = Array.from({ length: 6 }, (_, i) => `${i}`);
    const winners = await race(t, writers, 'objects.changed', (body) =>
      space.put('a', body, { ifMatch: etag }),
    );
    t.is(winners.length, 1);
    t.is(await space.text('a', 10), winners[0]);
    await t.throwsAsync(space.put('a', 'late', { ifMatch: etag }), { code: 'objects.changed' });
    const now = (await space.head('a'))!.etag;
    t.is((await space.put('a', 'next', { ifMatch: now })).size, 4);
    await t.throwsAsync(space.put('none', 'x', { ifMatch: now }), { code: 'objects.changed' });
    t.is(await space.head('none'), undefined);
  });

  each('both conditions together are a mistake', async (t, space) => {
    const both: PutOptions = { ifAbsent: true, ifMatch: 'x' };
    await t.throwsAsync(space.put('a', 'x', both), { instanceOf: TypeError });
    await t.throwsAsync(space.put('a', 'x', { limit: Number.NaN }), { instanceOf: RangeError });
  });
}
