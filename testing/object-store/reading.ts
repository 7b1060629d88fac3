import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { until } from '../until.ts';
import { type Checks, letters, MIB } from './kit.ts';

/** A reader has one version, whole or the range of it that was asked for. */
export function readingChecks({ each }: Checks): void {
  each('a range is served with both of its ends', async (space) => {
    await space.put('digits', '0123456789');
    const cases = [
      [{ start: 0, end: 0 }, '0'],
      [{ start: 0 }, '0123456789'],
      [{ start: 3, end: 5 }, '345'],
      [{ start: 9 }, '9'],
      [{ start: 9, end: 9 }, '9'],
      [{ start: 5, end: 1_000_000 }, '56789'],
    ] as const;
    for (const [range, expected] of cases) {
      const found = await space.get('digits', { range });
      assert.equal(await text(found!.body), expected);
      assert.equal(found!.info.size, 10);
    }
  });

  each('a range that the object does not have is refused', async (space) => {
    await space.put('digits', '0123456789');
    await space.put('empty', '');
    for (const range of [
      { start: 10 },
      { start: 100, end: 200 },
      { start: 5, end: 4 },
      { start: -1 },
      { start: 0.5 },
    ]) {
      await assert.rejects(space.get('digits', { range }), { code: 'objects.range-not-satisfiable' });
    }
    await assert.rejects(space.get('empty', { range: { start: 0 } }), {
      code: 'objects.range-not-satisfiable',
    });
  });

  each('a text above its limit is refused', async (space) => {
    await space.put('text', 'four');
    assert.equal(await space.text('text', 4), 'four');
    await assert.rejects(space.text('text', 3), { code: 'objects.too-large' });
    await space.put('bytes', Buffer.from([0x61, 0xff, 0x62]));
    assert.equal(await space.text('bytes', 10), 'a\ufffdb');
  });

  each('while writers replace an object every reader has one of them whole', async (space) => {
    const size = 300_000;
    let isWriting = true;
    await space.put('shared', Buffer.alloc(size, 'a'));
    const write = async (letter: string) => {
      for (let i = 0; i < 15; i += 1) await space.put('shared', Readable.from(letters(letter, size + i)));
    };
    const read = async () => {
      while (isWriting) {
        const found = (await space.get('shared'))!;
        const bytes = await buffer(found.body);
        assert.equal(bytes.length, found.info.size);
        assert.ok(bytes.equals(Buffer.alloc(bytes.length, bytes[0])));
      }
    };
    const readers = [read(), read()];
    await Promise.all([write('b'), write('c')]);
    isWriting = false;
    await Promise.all(readers);
  });

  each('a slow reader has the old bytes whole though the object is replaced and deleted', async (space) => {
    const size = 8 * MIB;
    await space.put('a', Buffer.alloc(size, 'o'));
    const { body } = (await space.get('a'))!;
    const { body: half } = (await space.get('a', { range: { start: size / 2 } }))!;
    const reader = body[Symbol.asyncIterator]();
    let read = ((await reader.next()).value as Buffer).length;
    await space.put('a', 'new');
    assert.equal(await space.delete('a'), true);
    for (;;) {
      const { done, value } = await reader.next();
      if (done) break;
      assert.ok((value as Buffer).equals(Buffer.alloc((value as Buffer).length, 'o')));
      read += (value as Buffer).length;
    }
    assert.equal(read, size);
    assert.ok((await buffer(half)).equals(Buffer.alloc(size / 2, 'o')));
  });

  each('an aborted reader is notified, also when it has not begun', async (space) => {
    await space.put('a', Buffer.alloc(4 * MIB));
    for (const hasBegun of [true, false]) {
      const stop = new AbortController();
      const { body } = (await space.get('a', { signal: stop.signal }))!;
      const reader = body[Symbol.asyncIterator]();
      if (hasBegun) await reader.next();
      stop.abort();
      await until(() => body.destroyed);
      await assert.rejects(async () => {
        while (!(await reader.next()).done);
      });
    }
  });
}
