import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { ANONYMOUS, type Identity, REJECTED } from '../../../kernel/access/identity.ts';
import type {
  Authenticator,
  BodyAuthenticator,
  Credentials,
  Outcome,
  SignedCredentials,
} from '../../../kernel/auth/authenticator.ts';
import { createAuthenticationChain } from '../../../kernel/auth/chain.ts';
import { createStaticTokenAuthenticator } from '../../../kernel/auth/static-token.ts';
import { credentials } from './credentials.ts';

function identity(id: string): Identity {
  return { id, tenantId: 't', roles: [], scopes: new Set(), method: id };
}

function fake(name: string, outcome: Outcome | Promise<Outcome>): Authenticator & { asked: number } {
  return {
    name,
    asked: 0,
    authenticate() {
      this.asked += 1;
      return outcome;
    },
  };
}

test('the first match wins and the rest is not asked', async (t) => {
  for (const wrap of [(outcome: Outcome) => outcome, (outcome: Outcome) => Promise.resolve(outcome)]) {
    const last = fake('c', wrap({ identity: identity('c') }));
    const builtin = [fake('a', wrap(undefined)), fake('b', wrap({ identity: identity('b') })), last];
    const result = await createAuthenticationChain({ builtin }).authenticate(credentials('x'));
    t.is(result.identity.id, 'b');
    t.is(result.failure, undefined);
    t.is(last.asked, 0);
  }
});

test('a refusal ends the chain, and tells who refused whom', async (t) => {
  for (const wrap of [(outcome: Outcome) => outcome, (outcome: Outcome) => Promise.resolve(outcome)]) {
    const next = fake('b', { identity: identity('b') });
    const refused: Outcome = { failure: 'revoked', tenantId: 't', identityId: 'k' };
    const chain = createAuthenticationChain({ builtin: [fake('a', wrap(refused)), next] });
    const result = await chain.authenticate(credentials('x'));
    t.is(result.identity, REJECTED);
    t.deepEqual(result.failure, { failure: 'revoked', tenantId: 't', identityId: 'k', authenticator: 'a' });
    t.is(next.asked, 0);
  }
});

test('without a credential the caller is anonymous, with one that nobody knows rejected', (t) => {
  const chain = createAuthenticationChain({ builtin: [createStaticTokenAuthenticator('s3cret')] });
  t.deepEqual(chain.authenticate(credentials()), { identity: ANONYMOUS });
  const wrong = { identity: REJECTED, failure: { failure: 'unknown' } };
  t.deepEqual(chain.authenticate(credentials('guess')), wrong as never);
  t.deepEqual(chain.authenticate(credentials('')), wrong as never);
  t.deepEqual(chain.authenticate(credentials(undefined, { authorization: 'Basic eDp5' })), wrong as never);
});

test('the static token is recognized without a promise', (t) => {
  const chain = createAuthenticationChain({ builtin: [createStaticTokenAuthenticator('s3cret')] });
  t.false(chain.authenticate(credentials('s3cret')) instanceof Promise);
});

test('credentials of plugins come after the built-in ones and leave with their plugin', (t) => {
  const chain = createAuthenticationChain({ builtin: [createStaticTokenAuthenticator('s3cret')] });
  const plugin = fake('cookie', { identity: identity('cookie') });
  const remove = chain.add(plugin);
  t.like(chain.authenticate(credentials('s3cret')), { identity: { method: 'static_token' } });
  t.is(plugin.asked, 0);
  t.like(chain.authenticate(credentials()), { identity: { id: 'cookie' } });
  remove();
  t.deepEqual(chain.authenticate(credentials()), { identity: ANONYMOUS });
});

test('a request under way keeps the chain that it began with', async (t) => {
  const slow = Promise.withResolvers<Outcome>();
  const chain = createAuthenticationChain({ builtin: [fake('slow', slow.promise)] });
  const remove = chain.add(fake('cookie', { identity: identity('cookie') }));
  const result = chain.authenticate(credentials());
  remove();
  slow.resolve(undefined);
  t.is((await result).identity.id, 'cookie');
});

test('two authenticators of one name are refused', (t) => {
  const chain = createAuthenticationChain({ builtin: [fake('a', undefined)] });
  t.throws(() => chain.add(fake('a', undefined)), { message: /named a already/ });
});

test('an authenticator that cannot tell fails the request; it neither passes nor falls through', async (t) => {
  const next = fake('b', { identity: identity('b') });
  const chain = createAuthenticationChain({ builtin: [fake('a', Promise.reject(new Error('away'))), next] });
  await t.throwsAsync(async () => chain.authenticate(credentials('x')), { message: 'away' });
  t.is(next.asked, 0);
});

test('an authenticator that hangs costs its caller the deadline', async (t) => {
  const chain = createAuthenticationChain({ builtin: [], deadline: 20 });
  chain.add(fake('hangs', new Promise(() => {})));
  const keepAlive = setInterval(() => {}, 1000);
  await t.throwsAsync(async () => chain.authenticate(credentials('x')), { code: 'auth.unavailable' });
  clearInterval(keepAlive);
});

/** Signatures in a header or a cookie, over the body; `asked` is what it was asked with. */
function signatures(answer: (credentials: SignedCredentials) => Outcome | Promise<Outcome>) {
  const asked: SignedCredentials[] = [];
  const authenticator: BodyAuthenticator = {
    name: 'signature',
    needsBody: true,
    places: [
      { in: 'header', name: 'x-signature' },
      { in: 'cookie', name: 'signature' },
    ],
    authenticate(credentials) {
      asked.push(credentials);
      return answer(credentials);
    },
  };
  return { authenticator, asked };
}

/** A caller whose body can be read; `reads` counts how often it was. */
function caller(found: Credentials, body = 'text') {
  const told = { reads: 0 };
  const readBody = async () => {
    told.reads += 1;
    return Buffer.from(body);
  };
  return { told, presented: { ...found, readBody } };
}

test('the body is read for a signature in one of its places, and the caller is known for this call alone', async (t) => {
  const { authenticator, asked } = signatures(() => ({ identity: identity('signer') }));
  const chain = createAuthenticationChain({ builtin: [authenticator] });
  const inHeader = credentials(undefined, { 'x-signature': 's' });
  const inCookie = { ...credentials(), cookie: (name: string) => (name === 'signature' ? 's' : undefined) };
  for (const found of [inHeader, inCookie]) {
    const { told, presented } = caller(found);
    t.like(await chain.authenticate(presented), { identity: { id: 'signer' }, isSigned: true });
    t.is(told.reads, 1);
    const { header, cookie, method, path, target, loopback } = found;
    const expected = { header, cookie, method, path, target, loopback, body: Buffer.from('text') };
    t.deepEqual(asked.pop(), expected);
  }
  await chain.authenticate(caller({ ...inHeader, bearer: 'b' }).presented);
  t.is(asked.pop()?.bearer, 'b');
  t.is(asked.length, 0);
});

test('nobody’s body is read without a signature, or where it cannot be read ahead', async (t) => {
  const { authenticator, asked } = signatures(() => ({ identity: identity('signer') }));
  const chain = createAuthenticationChain({
    builtin: [authenticator, fake('next', { identity: identity('n') })],
  });
  const { told, presented } = caller(credentials(undefined, { 'x-other': 's' }));
  t.like(chain.authenticate(presented), { identity: { id: 'n' }, isSigned: undefined });
  t.is(told.reads, 0);
  t.like(chain.authenticate(credentials(undefined, { 'x-signature': 's' })), { identity: { id: 'n' } });
  t.is(asked.length, 0);
});

test('a signature that is not recognized is left to the next, one that does not hold ends the chain', async (t) => {
  let outcome: Outcome;
  const { authenticator } = signatures(async () => outcome);
  const chain = createAuthenticationChain({
    builtin: [authenticator, fake('next', { identity: identity('n') })],
  });
  const { presented } = caller(credentials(undefined, { 'x-signature': 's' }));
  t.like(await chain.authenticate(presented), { identity: { id: 'n' } });
  outcome = { failure: 'invalid' };
  t.deepEqual(await chain.authenticate(presented), {
    identity: REJECTED,
    failure: { failure: 'invalid', authenticator: 'signature' },
  });
});

test('the deadline of a signature begins when the body is there', async (t) => {
  const body = Promise.withResolvers<Buffer>();
  const { authenticator } = signatures(({ body: { length } }) =>
    length === 0 ? new Promise(() => {}) : { identity: identity('signer') },
  );
  const chain = createAuthenticationChain({ builtin: [authenticator], deadline: 20 });
  const found = credentials(undefined, { 'x-signature': 's' });
  const keepAlive = setInterval(() => {}, 1000);
  t.teardown(() => clearInterval(keepAlive));
  const slow = chain.authenticate({ ...found, readBody: () => body.promise });
  await pause(60);
  body.resolve(Buffer.from('late'));
  t.like(await slow, { identity: { id: 'signer' } });
  const hangs = async () => chain.authenticate({ ...found, readBody: async () => Buffer.alloc(0) });
  await t.throwsAsync(hangs, { code: 'auth.unavailable' });
});

test('a body that cannot be read, and a signature whose check throws, fail the request', async (t) => {
  const { authenticator } = signatures(() => {
    throw new Error('no key');
  });
  const next = fake('next', { identity: identity('n') });
  const chain = createAuthenticationChain({ builtin: [authenticator, next] });
  const found = credentials(undefined, { 'x-signature': 's' });
  await t.throwsAsync(async () => chain.authenticate(caller(found).presented), { message: 'no key' });
  const readBody = () => Promise.reject(new Error('too large'));
  await t.throwsAsync(async () => chain.authenticate({ ...found, readBody }), { message: 'too large' });
  t.is(next.asked, 0);
});
