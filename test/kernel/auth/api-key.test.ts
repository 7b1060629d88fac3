import test from 'ava';
import { createApiKeyAuthenticator } from '../../../kernel/auth/api-key.ts';
import { hashApiKey } from '../../../kernel/auth/api-key-store.ts';
import { createIdentityCache, type KnownKey } from '../../../kernel/auth/identity-cache.ts';
import { manualClock } from '../../../testing/manual-clock.ts';
import { credentials } from './credentials.ts';

const RAW = `hk_${'a'.repeat(43)}`;

function setUp(stored: Partial<KnownKey> = {}) {
  const clock = manualClock();
  const identity = {
    id: 'key-1',
    tenantId: 'tenant-1',
    roles: ['user'],
    scopes: new Set(['read']),
    method: 'api_key',
  };
  const rows = new Map<string, KnownKey>([
    [hashApiKey(RAW), { identity, expiresAt: Number.POSITIVE_INFINITY, isRevoked: false, ...stored }],
  ]);
  const asked: string[] = [];
  const touched: string[] = [];
  const identities = createIdentityCache(async (hash) => {
    asked.push(hash);
    return rows.get(hash);
  }, clock);
  const authenticator = createApiKeyAuthenticator({ identities, clock, touch: (id) => touched.push(id) });
  const authenticate = (bearer?: string) => authenticator.authenticate(credentials(bearer));
  return { clock, rows, asked, touched, identities, authenticate };
}

test('a known key is its identity, without a promise from the second time on, and is noted as used', async (t) => {
  const { asked, touched, authenticate } = setUp();
  t.like(await authenticate(RAW), { identity: { id: 'key-1', tenantId: 'tenant-1' } });
  t.like(authenticate(RAW), { identity: { id: 'key-1' } });
  t.deepEqual(asked, [hashApiKey(RAW)]);
  t.deepEqual(touched, ['key-1', 'key-1']);
});

test('tokens of another form are left to the next authenticator', (t) => {
  const { asked, authenticate } = setUp();
  for (const bearer of [undefined, '', 'hk', 'HK_x', 'eyJ.x.y']) t.is(authenticate(bearer), undefined);
  t.is(asked.length, 0);
});

test('an unknown key fails, and an overlong one does so without a lookup', async (t) => {
  const { asked, touched, authenticate } = setUp();
  t.deepEqual(await authenticate('hk_guess'), { failure: 'unknown' });
  t.deepEqual(authenticate(`hk_${'x'.repeat(100_000)}`), { failure: 'unknown' });
  t.is(asked.length, 1);
  t.is(touched.length, 0);
});

test('a revoked key fails and tells whose it was', async (t) => {
  const { touched, authenticate } = setUp({ isRevoked: true });
  t.deepEqual(await authenticate(RAW), { failure: 'revoked', tenantId: 'tenant-1', identityId: 'key-1' });
  t.is(touched.length, 0);
});

test('a cached key fails from the very millisecond of its expiry', async (t) => {
  const start = manualClock().now();
  const { clock, authenticate } = setUp({ expiresAt: start + 500 });
  t.like(await authenticate(RAW), { identity: { id: 'key-1' } });
  clock.advance(499);
  t.like(authenticate(RAW), { identity: { id: 'key-1' } });
  clock.advance(1);
  t.deepEqual(authenticate(RAW), { failure: 'expired', tenantId: 'tenant-1', identityId: 'key-1' });
});

test('a key that another replica revoked works for less than a second, one that was forgotten here not at all', async (t) => {
  for (const told of [false, true]) {
    const { clock, rows, identities, authenticate } = setUp();
    await authenticate(RAW);
    const row = rows.get(hashApiKey(RAW));
    if (row === undefined) return t.fail();
    rows.set(hashApiKey(RAW), { ...row, isRevoked: true });
    if (told) identities.forget(hashApiKey(RAW));
    else {
      t.like(authenticate(RAW), { identity: { id: 'key-1' } });
      clock.advance(1000);
    }
    t.like(await authenticate(RAW), { failure: 'revoked' });
  }
});

test('the keys of a tenant are forgotten together', async (t) => {
  const { identities, authenticate } = setUp();
  await authenticate(RAW);
  identities.forgetTenant('tenant-2');
  t.false(authenticate(RAW) instanceof Promise);
  identities.forgetTenant('tenant-1');
  t.true(authenticate(RAW) instanceof Promise);
});

test('the hash of a key is its SHA-256', (t) => {
  t.is(hashApiKey('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});
