import { createHmac, createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createJwtAuthenticator, type JwtSettings } from '../../../kernel/auth/jwt.ts';
import { manualClock } from '../../../testing/manual-clock.ts';
import { until } from '../../support/until.ts';
import { credentials } from './credentials.ts';

const TENANT = '0198c0de-0000-7000-8000-000000000001';
const issuer = generateKeyPairSync('rsa', { modulusLength: 2048 });
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PEM = pem(issuer.publicKey);
const NOW = manualClock().now() / 1000;
const CLAIMS = { sub: 'alice', tenant_id: TENANT, roles: ['user'], exp: NOW + 60 };

function pem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString();
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A compact JWS made by hand, so that the library under test does not check itself. */
function token(claims: object, header: object = {}, key: KeyObject = issuer.privateKey): string {
  const input = `${encode({ alg: 'RS256', ...header })}.${encode(claims)}`;
  return `${input}.${createSign('RSA-SHA256').update(input).sign(key, 'base64url')}`;
}

async function setUp(settings: JwtSettings = { publicKey: PEM }) {
  const clock = manualClock();
  const warnings: string[] = [];
  const log = {
    warn: (fields: object) => void warnings.push(String((fields as { err: Error }).err.message)),
  };
  const authenticator = await createJwtAuthenticator(settings, { clock, log: log as never });
  if (authenticator === undefined) throw new Error('JWTs are off');
  return {
    clock,
    warnings,
    authenticate: async (bearer: string) => authenticator.authenticate(credentials(bearer)),
  };
}

test('JWTs are off without a key', async (t) => {
  t.is(await createJwtAuthenticator({}, { clock: manualClock(), log: { warn() {} } as never }), undefined);
});

test('a good token is its subject in its tenant, with the legacy scopes and those of its roles', async (t) => {
  const { authenticate } = await setUp();
  const outcome = await authenticate(token({ ...CLAIMS, roles: ['auditor', 'offline_access', 'auditor'] }));
  t.deepEqual(outcome, {
    identity: {
      id: 'alice',
      tenantId: TENANT,
      roles: ['auditor'],
      scopes: new Set(['read', 'write', 'execute', 'audit:read']),
      method: 'jwt',
    },
  });
});

test('a token never carries the admin scope, whatever it claims', async (t) => {
  const { authenticate } = await setUp();
  const outcome = await authenticate(
    token({ ...CLAIMS, roles: ['admin'], scope: 'admin', scopes: ['admin'] }),
  );
  t.true(outcome !== undefined && 'identity' in outcome && !outcome.identity.scopes.has('admin'));
});

test('a token without roles has none', async (t) => {
  const { authenticate } = await setUp();
  t.like(await authenticate(token({ ...CLAIMS, roles: undefined })), { identity: { roles: [] } });
});

test('tokens of another form are left to the next authenticator', async (t) => {
  const { authenticate } = await setUp();
  for (const bearer of ['', 'hk_x', 'eyJ', 'eyJx.y', 'eyJx.y.z.w', 'eyJ a.b.c']) {
    t.is(await authenticate(bearer), undefined, bearer);
  }
});

test('the claims sub, tenant_id and exp are required, and must have their form', async (t) => {
  const { authenticate } = await setUp();
  const bad: Record<string, unknown>[] = [
    { sub: undefined },
    { sub: '' },
    { sub: 7 },
    { sub: 'x'.repeat(256) },
    { sub: 'line\nbreak' },
    { tenant_id: undefined },
    { tenant_id: 'default' },
    { tenant_id: [TENANT] },
    { exp: undefined },
    { exp: String(NOW + 60) },
    { roles: 'admin' },
    { roles: [1] },
    { nbf: 'soon' },
  ];
  for (const claims of bad) {
    t.like(
      await authenticate(token({ ...CLAIMS, ...claims })),
      { failure: 'invalid' },
      JSON.stringify(claims),
    );
  }
});

test('an expired token fails as such, from the second of its exp on, and tells whose it was', async (t) => {
  const { clock, authenticate } = await setUp();
  const bearer = token(CLAIMS);
  clock.advance(59_999);
  t.like(await authenticate(bearer), { identity: { id: 'alice' } });
  clock.advance(1);
  t.deepEqual(await authenticate(bearer), { failure: 'expired', tenantId: TENANT, identityId: 'alice' });
});

test('a token is not valid before its nbf', async (t) => {
  const { clock, authenticate } = await setUp();
  const bearer = token({ ...CLAIMS, nbf: NOW + 10 });
  t.like(await authenticate(bearer), { failure: 'invalid' });
  clock.advance(10_000);
  t.like(await authenticate(bearer), { identity: { id: 'alice' } });
});

test('audience and issuer are checked when they are configured, and a refusal tells whose the token was', async (t) => {
  const { authenticate } = await setUp({ publicKey: PEM, audience: 'gateway', issuer: 'https://idp' });
  t.like(await authenticate(token({ ...CLAIMS, aud: ['x', 'gateway'], iss: 'https://idp' })), {
    identity: { id: 'alice' },
  });
  t.like(await authenticate(token({ ...CLAIMS, aud: 'gateway', iss: 'https://other' })), {
    failure: 'invalid',
    tenantId: TENANT,
    identityId: 'alice',
  });
  t.like(await authenticate(token({ ...CLAIMS, aud: 'other', iss: 'https://idp' })), { failure: 'invalid' });
  t.like(await authenticate(token(CLAIMS)), { failure: 'invalid' });
});

test('what is wrong with a token is told to the operator, without a value of it', async (t) => {
  const { authenticate } = await setUp({ publicKey: PEM, audience: 'gateway', issuer: 'https://idp/' });
  const good = { ...CLAIMS, aud: 'gateway', iss: 'https://idp/' };
  const wrong: [bearer: string, reason: RegExp][] = [
    [token({ ...good, iss: 'https://idp' }), /^unexpected "iss" claim value$/],
    [token({ ...good, aud: 'other' }), /^unexpected "aud" claim value$/],
    [token({ ...good, nbf: NOW + 10 }), /^"nbf" claim/],
    [token({ ...good, tenant_id: undefined }), /^missing required "tenant_id" claim$/],
    [token({ ...good, roles: 'admin' }), /^sub, tenant_id or roles have another form$/],
    [token(good, { alg: 'ES256' }), /^"alg"/],
    [token(good, {}, stranger.privateKey), /^signature verification failed$/],
  ];
  for (const [bearer, reason] of wrong) {
    const outcome = await authenticate(bearer);
    t.true(outcome !== undefined && 'failure' in outcome, String(reason));
    if (outcome !== undefined && 'failure' in outcome) t.regex(outcome.reason ?? '', reason);
  }
});

test('only RS256 with the right key counts: no none, no HMAC with the public key, no other RSA algorithm', async (t) => {
  const { authenticate } = await setUp();
  const input = (alg: string) => `${encode({ alg })}.${encode(CLAIMS)}`;
  const hmac = (secret: string) => createHmac('sha256', secret).update(input('HS256')).digest('base64url');
  const rs512 = createSign('RSA-SHA512').update(input('RS512')).sign(issuer.privateKey, 'base64url');
  const pss = createSign('RSA-SHA256')
    .update(input('PS256'))
    .sign({ key: issuer.privateKey, padding: 6, saltLength: 32 }, 'base64url');
  const forged: Record<string, string> = {
    none: `${input('none')}.`,
    'None with a signature': `${input('None')}.AAAA`,
    'HS256 with the PEM': `${input('HS256')}.${hmac(PEM)}`,
    'HS256 with the trimmed PEM': `${input('HS256')}.${hmac(PEM.trim())}`,
    RS512: `${input('RS512')}.${rs512}`,
    PS256: `${input('PS256')}.${pss}`,
    'a foreign key': token(CLAIMS, {}, stranger.privateKey),
    'a foreign key in the header': token(
      CLAIMS,
      { jwk: stranger.publicKey.export({ format: 'jwk' }) },
      stranger.privateKey,
    ),
    'other claims': token(CLAIMS).replace(/\.[^.]+\./, `.${encode({ ...CLAIMS, sub: 'mallory' })}.`),
    'no signature': `${input('RS256')}.`,
    'an unknown critical header': token(CLAIMS, { crit: ['x'], x: 1 }),
    'garbage claims': token([] as object),
  };
  for (const [what, bearer] of Object.entries(forged)) {
    t.like(await authenticate(bearer), { failure: 'invalid' }, what);
  }
});

test('an overlong token is refused unread, one with the groups of a large company is not', async (t) => {
  const { authenticate } = await setUp();
  const groups = Array.from({ length: 200 }, () => TENANT);
  t.like(await authenticate(token({ ...CLAIMS, groups })), { identity: { id: 'alice' } });
  const bearer = token({ ...CLAIMS, sub: 'x'.repeat(20_000) });
  t.deepEqual(await authenticate(bearer), { failure: 'invalid', reason: 'is too long' });
});

test('the public key may be a file, or a PEM with \\n for its line breaks', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'jwt-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'key.pem');
  await writeFile(file, PEM);
  for (const publicKey of [file, PEM.replaceAll('\n', '\\n')]) {
    const { authenticate } = await setUp({ publicKey });
    t.like(await authenticate(token(CLAIMS)), { identity: { id: 'alice' } });
  }
});

test('a key that cannot be used stops the start, names the variable and does not quote the key', async (t) => {
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey;
  const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey;
  const secret = issuer.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const bad: Record<string, JwtSettings> = {
    private: { publicKey: secret },
    weak: { publicKey: pem(weak) },
    curve: { publicKey: pem(curve) },
    garbage: { publicKey: '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----' },
    missing: { publicKey: '/nowhere/key.pem' },
    url: { jwksUrl: 'file:///etc/passwd' },
    both: { publicKey: PEM, jwksUrl: 'https://idp/jwks' },
  };
  for (const [what, settings] of Object.entries(bad)) {
    const error = await t.throwsAsync(setUp(settings), { message: /SVC_JWT_/ }, what);
    t.false(error?.message.includes(secret.split('\n')[1] ?? ''), what);
  }
});

/** An issuer whose published keys, and whether it answers, the test changes. */
async function startIssuer(t: ExecutionContext) {
  const state = { keys: [] as object[], status: 200, body: undefined as string | undefined, reads: 0 };
  const server = createServer((_request, response) => {
    state.reads += 1;
    response.writeHead(state.status, { 'content-type': 'application/json', location: '/elsewhere' });
    response.end(state.body ?? JSON.stringify({ keys: state.keys }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { state, jwksUrl: `http://127.0.0.1:${port}/jwks` };
}

const published = (key: KeyObject, kid: string) => ({
  ...key.export({ format: 'jwk' }),
  kid,
  use: 'sig',
  alg: 'RS256',
});

test('keys come from the JWKS, are read once, and a rotated key is found', async (t) => {
  const { state, jwksUrl } = await startIssuer(t);
  state.keys = [published(issuer.publicKey, 'one')];
  const { authenticate } = await setUp({ jwksUrl, jwksCooldown: 0 });
  const first = token(CLAIMS, { kid: 'one' });
  t.like(await authenticate(first), { identity: { id: 'alice' } });
  t.like(await authenticate(first), { identity: { id: 'alice' } });
  t.is(state.reads, 1);
  state.keys = [published(stranger.publicKey, 'two')];
  t.like(await authenticate(token(CLAIMS, { kid: 'two' }, stranger.privateKey)), {
    identity: { id: 'alice' },
  });
  t.is(state.reads, 2);
  t.like(await authenticate(first), { failure: 'invalid' });
});

test('known keys are read again in the background, and used while their issuer is away', async (t) => {
  const { state, jwksUrl } = await startIssuer(t);
  state.keys = [published(issuer.publicKey, 'one')];
  const { clock, warnings, authenticate } = await setUp({ jwksUrl });
  const bearer = token({ ...CLAIMS, exp: NOW + 600_000 }, { kid: 'one' });
  const isAlice = async () => t.like(await authenticate(bearer), { identity: { id: 'alice' } });
  await isAlice();
  clock.advance(299_999);
  await isAlice();
  t.is(state.reads, 1);
  clock.advance(1);
  state.status = 500;
  await isAlice();
  await until(() => warnings.length === 1);
  t.regex(warnings[0]!, /status 500/);
  clock.advance(4_999);
  await isAlice();
  t.is(state.reads, 2, 'nobody hammers it');
  Object.assign(state, { status: 200, keys: [published(stranger.publicKey, 'two')] });
  clock.advance(1);
  await until(async () => {
    const outcome = await authenticate(bearer);
    return outcome !== undefined && 'failure' in outcome && outcome.failure === 'invalid';
  });
});

test('unknown key ids cause one read of the JWKS in a cool-down, not one each', async (t) => {
  const { state, jwksUrl } = await startIssuer(t);
  state.keys = [published(issuer.publicKey, 'one')];
  const { authenticate } = await setUp({ jwksUrl });
  for (let index = 0; index < 5; index += 1) {
    t.like(await authenticate(token(CLAIMS, { kid: `made-up-${index}` })), { failure: 'invalid' });
  }
  t.is(state.reads, 1);
});

test('a published key that is too short fails its tokens, which would be no better later', async (t) => {
  const { state, jwksUrl } = await startIssuer(t);
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 });
  state.keys = [published(weak.publicKey, 'weak')];
  const { authenticate } = await setUp({ jwksUrl });
  t.deepEqual(await authenticate(token(CLAIMS, { kid: 'weak' }, weak.privateKey)), {
    failure: 'invalid',
    reason: 'RS256 requires key modulusLength to be 2048 bits or larger',
  });
});

test('a published key that is not whole fails its tokens alone, and the others are read again as ever', async (t) => {
  const { state, jwksUrl } = await startIssuer(t);
  const { kty, alg } = published(stranger.publicKey, 'bare');
  state.keys = [{ kty, alg, kid: 'bare', x5c: [] }, published(issuer.publicKey, 'one')];
  const { clock, authenticate } = await setUp({ jwksUrl });
  const bare = token(CLAIMS, { kid: 'bare' }, stranger.privateKey);
  t.deepEqual(await authenticate(bare), { failure: 'invalid', reason: 'a published key cannot be used' });
  clock.advance(300_000);
  await authenticate(bare);
  await until(() => state.reads === 2);
});

test('an HMAC made with a published key fails', async (t) => {
  const { state, jwksUrl } = await startIssuer(t);
  state.keys = [published(issuer.publicKey, 'one')];
  const { authenticate } = await setUp({ jwksUrl });
  const input = `${encode({ alg: 'HS256', kid: 'one' })}.${encode(CLAIMS)}`;
  const signature = createHmac('sha256', PEM).update(input).digest('base64url');
  t.like(await authenticate(`${input}.${signature}`), { failure: 'invalid' });
});

test('while the issuer is away the answer is unavailable, not invalid, and nobody hammers it', async (t) => {
  const { state, jwksUrl } = await startIssuer(t);
  state.keys = [published(issuer.publicKey, 'one')];
  const broken: Partial<typeof state>[] = [
    { status: 500 },
    { status: 302 },
    { body: 'not json' },
    { body: '{"keys": 7}' },
    { body: `{"keys": [], "x": "${'x'.repeat(300_000)}"}` },
  ];
  for (const trouble of broken) {
    Object.assign(state, { status: 200, body: undefined, reads: 0 }, trouble);
    const { clock, authenticate } = await setUp({ jwksUrl });
    const bearer = token(CLAIMS, { kid: 'one' });
    for (let index = 0; index < 3; index += 1) {
      await t.throwsAsync(
        authenticate(bearer),
        { code: 'auth.unavailable' },
        JSON.stringify(trouble).slice(0, 50),
      );
      clock.advance(1000);
    }
    t.is(state.reads, 1);
    Object.assign(state, { status: 200, body: undefined });
    clock.advance(3000);
    t.like(await authenticate(bearer), { identity: { id: 'alice' } });
  }
});

test('an issuer that refuses connections is unavailable too', async (t) => {
  const { authenticate } = await setUp({ jwksUrl: 'http://127.0.0.1:1/jwks' });
  await t.throwsAsync(authenticate(token(CLAIMS)), { code: 'auth.unavailable' });
});
