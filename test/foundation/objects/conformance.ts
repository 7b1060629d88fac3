import { randomUUID } from 'node:crypto';
import { PassThrough, Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import type { ExecutionContext, TestFn } from 'ava';
import type { GatewayError } from '../../../foundation/base/gateway-error.ts';
import type { ObjectSpace, Objects, PutOptions } from '../../../foundation/objects/objects.ts';
import { until } from '../../support/until.ts';

/** One form of object storage. */
export interface Form {
  readonly name: string;
  readonly objects: () => Objects;
  /** Writes that were begun and neither ended nor cleaned up. */
  readonly unfinished: () => Promise<number>;
}

const MIB = 1024 * 1024;

/** Keys that a file system, a URL or an XML document may stumble over. */
export const ODD_KEYS = [
  'SOUL.md',
  'soul.md',
  'a',
  'a/b',
  'a/b/c',
  'a-b',
  'a.b',
  'a b',
  ' a',
  'a ',
  'a.',
  'a..',
  '...',
  '.hidden',
  '%41',
  '%',
  'a%2fb',
  'a+b',
  'a=',
  'a@',
  'a&b<c>"d\'',
  '~',
  '~tmp',
  'tmp',
  'con',
  'con.txt',
  'CON',
  'nul.md',
  '*?:|"',
  'caf\u00e9',
  'cafe\u0301',
  '日本語/スキル',
  '🙂',
  '\ufefftext',
  'x'.repeat(79),
  'x'.repeat(80),
  `${'x'.repeat(80)}/y`,
  `${'x'.repeat(80)}-`,
  'x'.repeat(160),
  'x'.repeat(200),
  'Ü'.repeat(100),
  Array.from({ length: 450 }, () => 'Z').join('/'),
];

const BAD_KEYS: readonly [string, RegExp][] = [
  ['', /empty/],
  ['/a', /empty segment/],
  ['a/', /empty segment/],
  ['a//b', /empty segment/],
  ['.', /segment "\."/],
  ['..', /segment "\.\."/],
  ['../other/secret', /segment "\.\."/],
  ['a/../../b', /segment "\.\."/],
  ['a/./b', /segment "\."/],
  ['a\\b', /backslash/],
  ['..\\..\\b', /backslash/],
  ['a\0', /control/],
  ['a\nb', /control/],
  ['a\u0085', /control/],
  ['\ud800', /Unicode/],
  ['x'.repeat(201), /200 bytes/],
  ['é'.repeat(101), /200 bytes/],
  [Array.from({ length: 451 }, () => 'x').join('/'), /900 bytes/],
];

/**
 * Defines the tests that every form of object storage has to pass; one after the other, since they count what is
 * unfinished.
 */
export function testObjects(test: TestFn, form: Form): void {
  const each = (title: string, run: (t: ExecutionContext, space: ObjectSpace) => Promise<void>) =>
    test.serial(`${form.name}: ${title}`, (t) => run(t, form.objects().forTenant(`t-${randomUUID()}`)));
  const noneUnfinished = () => until(async () => (await form.unfinished()) === 0, 20_000);

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

  each('odd keys are all different, and listed in the order of their bytes', async (t, space) => {
    for (const key of ODD_KEYS) await space.put(key, `content of ${key}`);
    for (const key of ODD_KEYS) t.is(await space.text(key, 2000), `content of ${key}`, key);
    const sorted = ODD_KEYS.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    t.deepEqual(
      (await space.list('')).objects.map(({ key }) => key),
      sorted,
    );
    for (const limit of [1, 7]) t.deepEqual(await allKeys(space, '', limit), sorted);
    for (const prefix of ['a', 'a/', 'x', 'x'.repeat(80), 'x'.repeat(81), 'caf', 'Z/Z/', '日']) {
      t.deepEqual(
        await allKeys(space, prefix, 2),
        sorted.filter((key) => key.startsWith(prefix)),
        prefix,
      );
    }
    t.is((await space.deleteAll('')).deleted, ODD_KEYS.length);
    t.deepEqual((await space.list('')).objects, []);
  });

  each(
    'keys that could leave the tenant, or that no store can hold, are refused with the reason',
    async (t, space) => {
      for (const [key, message] of BAD_KEYS) {
        const expected = { code: 'objects.invalid-key', message };
        await t.throwsAsync(space.put(key, 'x'), expected);
        await t.throwsAsync(space.get(key), expected);
        await t.throwsAsync(space.head(key), expected);
        await t.throwsAsync(space.text(key, 1), expected);
        await t.throwsAsync(space.delete(key), expected);
      }
      for (const prefix of ['../', '/', 'a//', 'a/../', 'a\\', 'a\0']) {
        await t.throwsAsync(space.list(prefix), { code: 'objects.invalid-key' });
        await t.throwsAsync(space.deleteAll(prefix), { code: 'objects.invalid-key' });
      }
      await t.throwsAsync(space.list('', { after: '../a' }), { code: 'objects.invalid-key' });
    },
  );

  each('a range is served with both of its ends', async (t, space) => {
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
      t.is(await text(found!.body), expected);
      t.is(found!.info.size, 10);
    }
  });

  each('a range that the object does not have is refused', async (t, space) => {
    await space.put('digits', '0123456789');
    await space.put('empty', '');
    for (const range of [
      { start: 10 },
      { start: 100, end: 200 },
      { start: 5, end: 4 },
      { start: -1 },
      { start: 0.5 },
    ]) {
      await t.throwsAsync(space.get('digits', { range }), { code: 'objects.range-not-satisfiable' });
    }
    await t.throwsAsync(space.get('empty', { range: { start: 0 } }), {
      code: 'objects.range-not-satisfiable',
    });
  });

  each('a text above its limit is refused', async (t, space) => {
    await space.put('text', 'four');
    t.is(await space.text('text', 4), 'four');
    await t.throwsAsync(space.text('text', 3), { code: 'objects.too-large' });
    await space.put('bytes', Buffer.from([0x61, 0xff, 0x62]));
    t.is(await space.text('bytes', 10), 'a\ufffdb');
  });

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

  each('while writers replace an object every reader has one of them whole', async (t, space) => {
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
        t.is(bytes.length, found.info.size);
        t.true(bytes.equals(Buffer.alloc(bytes.length, bytes[0])));
      }
    };
    const readers = [read(), read()];
    await Promise.all([write('b'), write('c')]);
    isWriting = false;
    await Promise.all(readers);
  });

  each(
    'a slow reader has the old bytes whole though the object is replaced and deleted',
    async (t, space) => {
      const size = 8 * MIB;
      await space.put('a', Buffer.alloc(size, 'o'));
      const { body } = (await space.get('a'))!;
      const { body: half } = (await space.get('a', { range: { start: size / 2 } }))!;
      const reader = body[Symbol.asyncIterator]();
      let read = ((await reader.next()).value as Buffer).length;
      await space.put('a', 'new');
      t.true(await space.delete('a'));
      for (;;) {
        const { done, value } = await reader.next();
        if (done) break;
        t.true((value as Buffer).equals(Buffer.alloc((value as Buffer).length, 'o')));
        read += (value as Buffer).length;
      }
      t.is(read, size);
      t.true((await buffer(half)).equals(Buffer.alloc(size / 2, 'o')));
    },
  );

  each('an aborted reader is told, also when it has not begun', async (t, space) => {
    await space.put('a', Buffer.alloc(4 * MIB));
    for (const hasBegun of [true, false]) {
      const stop = new AbortController();
      const { body } = (await space.get('a', { signal: stop.signal }))!;
      const reader = body[Symbol.asyncIterator]();
      if (hasBegun) await reader.next();
      stop.abort();
      await until(() => body.destroyed);
      await t.throwsAsync(async () => {
        while (!(await reader.next()).done);
      });
    }
  });

  each('pages hold everything once, in order, though objects come and go', async (t, space) => {
    const keys = Array.from({ length: 25 }, (_, i) => `files/${String(i).padStart(2, '0')}`);
    for (const key of keys) await space.put(key, key);
    await space.put('other', 'x');
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await space.list('files/', { limit: 10, ...(after === undefined ? {} : { after }) });
      t.true(page.objects.length <= 10);
      seen.push(...page.objects.map(({ key }) => key));
      after = page.next;
      // What was listed already goes, and something comes before it: the next page is not moved by that.
      await space.delete(page.objects[0]!.key);
      await space.put(`files/${page.objects[1]!.key.slice(6)}-again`, 'x');
    } while (after !== undefined);
    t.deepEqual(
      seen.filter((key) => !key.endsWith('-again')),
      keys,
    );
    const first = (await space.list('files/', { limit: 1 })).objects[0]!;
    t.deepEqual(Object.keys(first).sort(), ['etag', 'key', 'modifiedAt', 'size']);
    t.is((await space.head(first.key))?.etag, first.etag);
    t.deepEqual((await space.list('files/', { after: 'files/zz' })).objects, []);
    t.is((await space.list('', { after: 'files/zz' })).objects[0]?.key, 'other');
  });

  each('a page that ends with the last object has no next one', async (t, space) => {
    for (const key of ['a', 'b', 'c']) await space.put(key, key);
    t.is((await space.list('', { limit: 3 })).next, undefined);
    t.is((await space.list('', { limit: 2 })).next, 'b');
    t.is((await space.list('', { limit: 2, after: 'b' })).next, undefined);
    for (const limit of [0, 1001, 1.5, Number.NaN]) {
      await t.throwsAsync(space.list('', { limit }), { instanceOf: RangeError });
    }
  });

  each('what begins with a prefix is deleted and counted, also beyond one batch', async (t, space) => {
    const keys = Array.from({ length: 1050 }, (_, i) => `many/${i % 7}/${i}`);
    for (let i = 0; i < keys.length; i += 25) {
      await Promise.all(keys.slice(i, i + 25).map((key) => space.put(key, 'xy')));
    }
    for (const key of ['manyother', 'mane', 'n']) await space.put(key, 'z');
    t.deepEqual(await space.deleteAll('many/3/'), { deleted: 150, bytes: 300 });
    t.deepEqual(await space.deleteAll('many/'), { deleted: 900, bytes: 1800 });
    t.deepEqual(
      (await space.list('')).objects.map(({ key }) => key),
      ['mane', 'manyother', 'n'],
    );
    t.deepEqual(await space.deleteAll('many'), { deleted: 1, bytes: 1 });
    t.deepEqual(
      (await space.list('')).objects.map(({ key }) => key),
      ['mane', 'n'],
    );
  });

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

/** Keys of all pages. */
async function allKeys(space: ObjectSpace, prefix: string, limit: number): Promise<string[]> {
  const keys: string[] = [];
  let after: string | undefined;
  do {
    const page = await space.list(prefix, { limit, ...(after === undefined ? {} : { after }) });
    keys.push(...page.objects.map(({ key }) => key));
    after = page.next;
  } while (after !== undefined);
  return keys;
}

/** Lets all write at one time and returns those that succeeded; the others must have been refused with `code`. */
async function race<T>(
  t: ExecutionContext,
  writers: readonly T[],
  code: string,
  write: (writer: T) => Promise<unknown>,
): Promise<T[]> {
  const results = await Promise.allSettled(writers.map(write));
  for (const result of results) {
    if (result.status === 'rejected') t.is((result.reason as GatewayError).code, code);
  }
  return writers.filter((_, i) => results[i]?.status === 'fulfilled');
}

function* zeros(size: number): Generator<Buffer> {
  for (let left = size; left > 0; left -= 65_536) yield Buffer.alloc(Math.min(left, 65_536));
}

function* letters(letter: string, size: number): Generator<Buffer> {
  for (let left = size; left > 0; left -= 65_536) yield Buffer.alloc(Math.min(left, 65_536), letter);
}
