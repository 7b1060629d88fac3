import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { ObjectErrors } from '../../../foundation/objects/object-errors.ts';
import type { OfferedObjectStore } from '../../../foundation/objects/offered-store.ts';
import { openProvidedStore } from '../../../foundation/objects/provided-store.ts';
import { boxStore } from './box-store.ts';

const NAME = 'plugin/acme/box';

function open(changes: Partial<OfferedObjectStore> = {}, silenceMs = 60_000) {
  const live = { stores: [{ ...boxStore(), ...changes }] as readonly OfferedObjectStore[] };
  const warned: unknown[] = [];
  const log = { warn: (...words: unknown[]) => void warned.push(words) };
  const store = openProvidedStore({ name: NAME, stores: () => live.stores, log: log as never, silenceMs });
  const put = (key: string, body: string | Readable, limit = 1_000_000) =>
    store.put(key, body, { contentType: 'text/plain', limit });
  return { store, put, live, warned };
}

const unavailable = { code: 'objects.unavailable' };
const info = (key: string) => ({ key, size: 1, modifiedAt: new Date(), etag: 'e' });
const never = () => new Promise<never>(() => {});

test('while no plugin offers the store every use is unavailable, and says which one is missing', async (t) => {
  const { store, put, live } = open();
  live.stores = [{ ...boxStore(), name: 'plugin/acme/boxx' }];
  const missing = {
    ...unavailable,
    message: /OBJECT_STORE_URL names plugin\/acme\/box, .*did you mean plugin\/acme\/boxx\?/,
  };
  const { signal } = new AbortController();
  await t.throwsAsync(put('t/a', 'x'), missing);
  await t.throwsAsync(store.get('t/a', {}), missing);
  await t.throwsAsync(store.head('t/a'), missing);
  await t.throwsAsync(store.delete('t/a'), missing);
  await t.throwsAsync(store.list('t/', { limit: 1 }), missing);
  await t.throwsAsync(store.deleteAll('t/'), missing);
  await t.throwsAsync(store.check(signal), missing);
});

test('a store that does not answer is given up', async (t) => {
  const hanging = { put: never, get: never, head: never, delete: never, list: never, check: never };
  const { store, put } = open(hanging, 20);
  const { signal } = new AbortController();
  const uses = [put('t/a', 'x'), store.get('t/a', {}), store.head('t/a'), store.delete('t/a')];
  for (const use of [...uses, store.list('t/', { limit: 1 }), store.deleteAll('t/'), store.check(signal)])
    await t.throwsAsync(use, unavailable);
  const silent = new PassThrough();
  const { store: slow } = open({ get: async (key) => ({ info: info(key), body: silent }) }, 20);
  await t.throwsAsync(text((await slow.get('t/a', {}))!.body), unavailable);
  t.true(silent.destroyed);
});

test('a caller whose body is slow is waited for', async (t) => {
  const { put, store } = open({}, 20);
  const body = new PassThrough();
  const stored = put('t/a', body);
  await new Promise((resolve) => setTimeout(resolve, 60));
  body.end('whole');
  t.is((await stored).size, 5);
  t.is(await text((await store.get('t/a', {}))!.body), 'whole');
});

test('what comes back is of the key, the prefix and the size that was asked for, or nothing', async (t) => {
  const wrong: [Partial<OfferedObjectStore>, (opened: ReturnType<typeof open>) => Promise<unknown>][] = [
    [{ head: async () => info('other/a') }, ({ store }) => store.head('t/a')],
    [{ head: async (key) => ({ ...info(key), size: -1 }) }, ({ store }) => store.head('t/a')],
    [{ head: async (key) => ({ ...info(key), etag: '"e"' }) }, ({ store }) => store.head('t/a')],
    [
      { head: async (key) => ({ ...info(key), modifiedAt: new Date(Number.NaN) }) },
      ({ store }) => store.head('t/a'),
    ],
    [{ put: async (key) => info(key) }, ({ put }) => put('t/a', 'long')],
    [{ get: async (key) => ({ info: info(key), body: 'x' as never }) }, ({ store }) => store.get('t/a', {})],
    [{ list: async () => ({ objects: [info('other/a')] }) }, ({ store }) => store.list('t/', { limit: 5 })],
    [
      { list: async () => ({ objects: [info('t/b'), info('t/a')] }) },
      ({ store }) => store.list('t/', { limit: 5 }),
    ],
    [
      { list: async () => ({ objects: [info('t/a'), info('t/b')] }) },
      ({ store }) => store.list('t/', { limit: 1 }),
    ],
    [{ list: async () => ({ objects: [], next: 't/a' }) }, ({ store }) => store.deleteAll('t/')],
    [{ list: async () => ({ objects: [info('t/a')], next: 't/a' }) }, ({ store }) => store.deleteAll('t/')],
  ];
  for (const [changes, use] of wrong) {
    const opened = open(changes);
    await t.throwsAsync(use(opened), unavailable, JSON.stringify(Object.keys(changes)));
    t.is(opened.warned.length, 1);
  }
  const short = open({
    get: async (key) => ({ info: { ...info(key), size: 5 }, body: Readable.from(['abc']) }),
  });
  await t.throwsAsync(text((await short.store.get('t/a', {}))!.body), unavailable);
});

test('errors of the store keep what they mean and lose their words', async (t) => {
  for (const [thrown, code] of [
    [ObjectErrors.full('password=hunter2'), 'objects.full'],
    [ObjectErrors.invalidKey('password=hunter2'), 'objects.unavailable'],
    [new Error('password=hunter2'), 'objects.unavailable'],
  ] as const) {
    const { store } = open({ head: () => Promise.reject(thrown) });
    const error = await t.throwsAsync(store.head('t/a'), { code });
    t.notRegex(error.message, /hunter2/);
  }
  const taking = open({
    put: async (key, body) => ({ ...info(key), size: (await text(body).catch(() => 'x')).length }),
  });
  await t.throwsAsync(taking.put('t/a', Readable.from(['too ', 'long']), 5), { code: 'objects.too-large' });
});
