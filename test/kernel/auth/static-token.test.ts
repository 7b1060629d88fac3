import test from 'ava';
import fc from 'fast-check';
import { DEFAULT_TENANT_ID, isOperator } from '../../../kernel/access/identity.ts';
import { createStaticTokenAuthenticator, createTokenComparison } from '../../../kernel/auth/static-token.ts';
import { anyCodePoint } from '../../support/code-points.ts';
import { credentials } from './credentials.ts';

test('the static token is an administrator of the default tenant with all general scopes and break-glass', (t) => {
  const outcome = createStaticTokenAuthenticator('s3cret').authenticate(credentials('s3cret'));
  t.true(outcome !== undefined && !(outcome instanceof Promise) && 'identity' in outcome);
  if (outcome === undefined || outcome instanceof Promise || !('identity' in outcome)) return;
  const { identity } = outcome;
  t.is(identity.tenantId, DEFAULT_TENANT_ID);
  t.is(identity.method, 'static_token');
  t.deepEqual(identity.roles, ['admin']);
  for (const scope of ['read', 'write', 'execute', 'admin']) t.true(identity.scopes.has(scope), scope);
  t.true(isOperator(identity));
  t.notRegex(JSON.stringify(identity), /s3cret/);
});

test('any other token is left to the next authenticator, whatever its length', (t) => {
  const authenticator = createStaticTokenAuthenticator('s3cret');
  for (const other of [
    undefined,
    '',
    's',
    's3cre',
    's3creT',
    's3cret ',
    's3cret\0',
    's3crets',
    'x'.repeat(10_000),
  ]) {
    t.is(authenticator.authenticate(credentials(other)), undefined, String(other).slice(0, 20));
  }
});

test('the comparison holds for the very same token only', (t) => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, unit: anyCodePoint }),
      fc.string({ unit: anyCodePoint }),
      (token, presented) => {
        const matches = createTokenComparison(token);
        t.true(matches(token));
        if (presented !== token) t.false(matches(presented));
      },
    ),
  );
});

test('an empty token is refused, since every empty credential would equal it', (t) => {
  t.throws(() => createStaticTokenAuthenticator(''), { message: /must not be empty/ });
});
