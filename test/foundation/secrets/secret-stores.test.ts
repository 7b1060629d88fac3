import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import { SecretErrors } from '../../../foundation/secrets/secret-file.ts';
import { parseSecretReference, type StoreReference } from '../../../foundation/secrets/secret-reference.ts';
import {
  createStoredSecrets,
  type SecretStore,
  type WantedSecret,
} from '../../../foundation/secrets/secret-stores.ts';
import { createSecrets } from '../../../foundation/secrets/secrets.ts';
import { isTenantSecretsEntry } from '../../../foundation/secrets/tenant-secrets.ts';
import { manualClock } from '../../../testing/manual-clock.ts';

const ACME = '01234567-89ab-7def-8123-456789abcdef';

function setUp(read: (wanted: WantedSecret) => Promise<string | undefined>, maxAge = 60_000) {
  const clock = manualClock();
  const asked: Omit<WantedSecret, 'signal'>[] = [];
  const store: SecretStore = {
    name: 'plugin/acme/vault',
    read: (wanted) => {
      const { signal: _, ...rest } = wanted;
      asked.push(rest);
      return read(wanted);
    },
  };
  const live: { stores: readonly SecretStore[] } = { stores: [store] };
  const stored = createStoredSecrets({ stores: () => live.stores, clock, maxAge });
  const shown: string[] = [];
  const secrets = createSecrets({
    env: {},
    folder: '/nowhere',
    tenantMayName: ['plugin/acme/vault:shared/*', `${ACME}@api.acme.com=plugin/acme/vault:acme/slack#token`],
    stored,
    onResolved: (value) => shown.push(value),
  });
  return { clock, asked, live, store, stored, secrets, shown };
}

const REFERENCE = 'plugin/acme/vault:shared/slack#token';

test('a reference says store, path and key, and nothing that could lead elsewhere', (t) => {
  t.like(parseSecretReference('plugin/acme/vault:a/b@c#k.1'), {
    kind: 'store',
    store: 'plugin/acme/vault',
    path: 'a/b@c',
    key: 'k.1',
  });
  t.is((parseSecretReference('plugin/acme/vault:a') as StoreReference).key, undefined);
  const wrong = [
    '',
    '/a',
    'a/',
    'a//b',
    '.',
    'a/../b',
    'a/..',
    'a%2e',
    'a b',
    'a?b',
    'a#',
    'a#b#c',
    'a\\b',
    'a#b/c',
  ];
  for (const path of wrong)
    t.throws(() => parseSecretReference(`plugin/acme/vault:${path}`), { code: 'secret.malformed' }, path);
  for (const store of ['plugin/acme', 'plugin/Acme/vault', 'vault', 'plugin/acme/vault/x'])
    t.throws(() => parseSecretReference(`${store}:a`), { code: 'secret.malformed' }, store);
});

test('what tenants may name of a store is a secret, one of its keys, or what begins so', async (t) => {
  const entries = [
    'plugin/acme/vault:a',
    'plugin/acme/vault:a/b#k',
    'plugin/acme/vault:a/*',
    'plugin/acme/vault:*',
  ];
  for (const entry of entries) t.true(isTenantSecretsEntry(entry), entry);
  for (const entry of [
    'plugin/acme/vault',
    'plugin/acme/vault:',
    'plugin/acme/*',
    'plugin/acme/vault:../a',
    'plugin/*',
  ])
    t.false(isTenantSecretsEntry(entry), entry);
  const { secrets, asked } = setUp(async () => 'value');
  const use = { tenantId: ACME, url: new URL('https://api.acme.com/x') };
  const refused = { code: 'secret.refused' };
  t.is(await secrets.resolve('plugin/acme/vault:shared/any#k', 'tenant'), 'value');
  t.is(await secrets.resolve('plugin/acme/vault:acme/slack#token', use), 'value');
  await t.throwsAsync(secrets.resolve('plugin/acme/vault:acme/slack#token', 'tenant'), refused);
  await t.throwsAsync(secrets.resolve('plugin/acme/vault:acme/slack#other', use), refused);
  await t.throwsAsync(secrets.resolve('plugin/acme/vault:acme/slack', use), refused);
  const elsewhere = { ...use, url: new URL('https://evil.test/') };
  await t.throwsAsync(secrets.resolve('plugin/acme/vault:acme/slack#token', elsewhere), refused);
  const other = { ...use, tenantId: '11234567-89ab-7def-8123-456789abcdef' };
  await t.throwsAsync(secrets.resolve('plugin/acme/vault:acme/slack#token', other), refused);
  t.deepEqual(asked, [
    { path: 'shared/any', key: 'k', tenantId: undefined },
    { path: 'acme/slack', key: 'token', tenantId: ACME },
  ]);
  await secrets.resolve('plugin/acme/vault:acme/slack#other', 'operator');
  t.is(asked.length, 3);
});

test('a value is kept for its time, read anew in the background from half of it on, and hidden each time', async (t) => {
  let value = 'one';
  const { clock, asked, secrets, shown } = setUp(async () => value);
  const read = () => secrets.resolve(REFERENCE, 'operator');
  t.is(await read(), 'one');
  value = 'two';
  clock.advance(29_000);
  t.is(await read(), 'one');
  t.is(asked.length, 1);
  clock.advance(1_000);
  t.is(await read(), 'one', 'the old one while the new one is read');
  await turn();
  t.is(await read(), 'two');
  t.is(asked.length, 2);
  t.deepEqual([...new Set(shown)], ['one', 'two']);
});

test('a store that fails is bridged until the value is too old, and asked a second later at the earliest', async (t) => {
  let isBroken = false;
  const { clock, asked, secrets } = setUp(async () => {
    if (isBroken) throw new Error('password=hunter2');
    return 'one';
  });
  const read = () => secrets.resolve(REFERENCE, 'operator');
  await read();
  isBroken = true;
  clock.advance(30_000);
  for (let time = 0; time < 3; time += 1) {
    t.is(await read(), 'one');
    await turn();
  }
  t.is(asked.length, 2);
  clock.advance(1_000);
  t.is(await read(), 'one');
  await turn();
  t.is(asked.length, 3);
  clock.advance(29_000);
  const error = await t.throwsAsync(read(), { code: 'secret.unreadable' });
  t.regex(error.message, /plugin\/acme\/vault:shared\/slack#token/);
  t.notRegex(error.message, /hunter2/);
});

test('what a store gives wrong is said in words of the gateway', async (t) => {
  const { secrets } = setUp(async ({ path }) => {
    if (path === 'shared/none') return undefined;
    if (path === 'shared/empty') return '';
    if (path === 'shared/number') return 7 as never;
    if (path === 'shared/bare') return Object.create(null);
    if (path === 'shared/zero') return 'a\0b';
    if (path === 'shared/long') return 'x'.repeat(65_537);
    if (path === 'shared/refused') throw SecretErrors.refused('secret words');
    throw SecretErrors.notFound('secret words');
  });
  const cases = {
    none: 'not-found',
    empty: 'not-found',
    number: 'unusable',
    bare: 'unusable',
    zero: 'unusable',
    long: 'unusable',
    refused: 'refused',
    lost: 'not-found',
  };
  for (const [path, code] of Object.entries(cases)) {
    const reading = secrets.resolve(`plugin/acme/vault:shared/${path}`, 'operator');
    const error = await t.throwsAsync(reading, { code: `secret.${code}` }, path);
    t.notRegex(error.message, /secret words/);
  }
});

test('of a store that is gone, or was exchanged, nothing is used any more', async (t) => {
  const { secrets, live, store, asked } = setUp(async () => 'old');
  const read = () => secrets.resolve(REFERENCE, 'operator');
  t.is(await read(), 'old');
  live.stores = [{ ...store, read: async () => 'new' }];
  t.is(await read(), 'new');
  live.stores = [{ name: 'plugin/acme/vaults', read: async () => 'other' }];
  await t.throwsAsync(read(), {
    code: 'secret.store-missing',
    message: /did you mean plugin\/acme\/vaults\?/,
  });
  live.stores = [store];
  t.is(await read(), 'old');
  t.is(asked.length, 1);
});

test('values are kept for each tenant by itself', async (t) => {
  const { secrets } = setUp(async ({ tenantId }) => `of ${tenantId}`);
  const url = new URL('https://api.acme.com');
  const one = await secrets.resolve(REFERENCE, { tenantId: ACME, url });
  t.is(one, `of ${ACME}`);
  t.is(await secrets.resolve(REFERENCE, 'operator'), 'of undefined');
});
