import test from 'ava';
import { defineErrors } from '../../../foundation/base/gateway-error.ts';
import { redactText } from '../../../foundation/observability/redact-text.ts';
import { denialError } from '../../../kernel/auth/errors.ts';

test('callers are told one and the same for an unknown, revoked, expired and orphaned credential', (t) => {
  const told = (['unknown', 'revoked', 'expired', 'invalid', 'tenant'] as const).map((failure) => {
    const error = denialError(
      { allow: false, reason: 'unauthenticated' },
      { failure, tenantId: 'acme', identityId: 'key-1' },
    );
    return { code: error.code, kind: error.kind, detail: error.detail, extras: error.extras };
  });
  t.is(new Set(told.map((error) => JSON.stringify(error))).size, 1);
  t.like(told[0], { code: 'auth.invalid', kind: 'unauthenticated' });
  t.notRegex(JSON.stringify(told), /acme|key-1|revoked|expired/);
});

test('a caller without a credential is asked for one', (t) => {
  const error = denialError({ allow: false, reason: 'unauthenticated' }, undefined);
  t.is(error.code, 'auth.required');
  t.deepEqual(error.extras.headers, { 'www-authenticate': 'Bearer' });
});

test('a missing role or scope is told in the detail', (t) => {
  const error = denialError(
    { allow: false, reason: 'forbidden', detail: 'This needs the role user.' },
    undefined,
  );
  t.like(error, { code: 'auth.forbidden', kind: 'forbidden', detail: 'This needs the role user.' });
});

test('what callers are told is not taken for a credential on its way out', (t) => {
  const failures = [undefined, { failure: 'unknown' as const }];
  for (const failure of failures) {
    const { detail, title } = denialError({ allow: false, reason: 'unauthenticated' }, failure);
    t.deepEqual([redactText(detail), redactText(title)], [detail, title]);
  }
});

test('a credential that holds, in a call that does not, is told as its authenticator says', (t) => {
  const { csrf } = defineErrors({
    csrf: { code: 'cookie.csrf', kind: 'forbidden', title: 'A header is missing' },
  });
  const denied = { allow: false, reason: 'unauthenticated' } as const;
  t.like(denialError(denied, { failure: 'invalid', error: csrf() }), {
    code: 'cookie.csrf',
    kind: 'forbidden',
  });
  const forbidden = { allow: false, reason: 'forbidden', detail: 'This needs the role user.' } as const;
  t.is(denialError(forbidden, undefined).code, 'auth.forbidden');
});
