import test from 'ava';
import { ANONYMOUS, type Identity, REJECTED } from '../../../kernel/access/identity.ts';
import type { Authenticator, Outcome } from '../../../kernel/auth/authenticator.ts';
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
