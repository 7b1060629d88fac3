import test from 'ava';
import fc from 'fast-check';
import { auditDetail } from '../../../foundation/audit/sanitize.ts';
import { anyCodePoint } from '../../support/code-points.ts';

test('keeps the query, the names of body fields and the user that a header names', (t) => {
  t.deepEqual(auditDetail('limit=5&name=a%20b', ['name', 'plan'], 'alice'), {
    svc_user_id: 'alice',
    query: { limit: '5', name: 'a b' },
    body_fields: ['name', 'plan'],
  });
  t.deepEqual(auditDetail('?limit=5', [], undefined), { query: { limit: '5' } });
  t.deepEqual(auditDetail(new URLSearchParams({ a: '1' }), [], undefined), { query: { a: '1' } });
  for (const nothing of ['', '?', new URLSearchParams()])
    t.deepEqual(auditDetail(nothing, [], undefined), {});
});

test('keeps what a route says that it changed, without credentials and bounded', (t) => {
  const key = `sk-proj-${'a1B2'.repeat(12)}`;
  t.deepEqual(
    auditDetail('', [], undefined, { changes: { run_id: 'r1', version: 3, forced: true, note: key } }),
    {
      changes: { run_id: 'r1', version: 3, forced: true, note: '[REDACTED:openai-api-key]' },
    },
  );
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`n${n}`, n]));
  const { changes, truncated } = auditDetail('', [], undefined, { changes: many });
  t.is(Object.keys(changes as object).length, 16);
  t.true(truncated);
});

test('what a route hides is not recorded, however often it is said', (t) => {
  t.deepEqual(auditDetail('user_id=ada&limit=5&user_id=bob', [], undefined, { hidden: ['user_id'] }), {
    query: { user_id: ['[REDACTED]', '[REDACTED]'], limit: '5' },
  });
});

test('a name that is repeated has all its values', (t) => {
  t.deepEqual(auditDetail('tag=a&tag=b&tag=c', [], undefined), { query: { tag: ['a', 'b', 'c'] } });
});

for (const name of [
  'token',
  'access_token',
  'Access-Token',
  'id_token_hint',
  'key',
  'api_key',
  'apiKey',
  'X-API-Key',
  'client_secret',
  'secretValue',
  'password',
  'user.password',
  'passwd',
  'code',
  'code_verifier',
  'auth_code',
  'signature',
  'X-Amz-Signature',
  'X-Amz-Security-Token',
  'X-Amz-Credential',
  'sig',
  'otp',
  'challenge',
  'code_challenge',
  'jwt',
  'authorization',
  'cookie',
]) {
  test(`the value of ${name} is not kept`, (t) => {
    const detail = auditDetail(new URLSearchParams({ [name]: 'Zq7value', page: '2' }), [], undefined);
    t.deepEqual(detail, { query: { [name]: '[REDACTED]', page: '2' } });
  });
}

for (const name of [
  'limit',
  'offset',
  'from',
  'tenant_id',
  'session_id',
  'action',
  'status',
  'tool_name',
  'state',
  'keyword',
]) {
  test(`the value of ${name} is kept`, (t) => {
    t.deepEqual(auditDetail(`${name}=x1`, [], undefined), { query: { [name]: 'x1' } });
  });
}

test('the state of a login is not kept', (t) => {
  const state = 'k9'.repeat(10);
  t.deepEqual(auditDetail(`state=${state}`, [], undefined), { query: { state: '[REDACTED]' } });
  t.deepEqual(auditDetail(`state=${state}&state=open`, [], undefined), {
    query: { state: ['[REDACTED]', 'open'] },
  });
});

test('a credential is not kept under any name', (t) => {
  const key = `hk_${'a'.repeat(43)}`;
  const written = JSON.stringify(auditDetail(`url=https://me:pw12345@host/&x=${key}&${key}=1`, [key], key));
  t.false(written.includes(key));
  t.false(written.includes('pw12345'));
});

test('a credential that would be cut is not kept in part', (t) => {
  const secret = `hk_${'Zq'.repeat(30)}`;
  const written = JSON.stringify(auditDetail(`x=${'y'.repeat(240)}%20${secret}`, [], undefined));
  t.false(written.includes('Zq'));
});

test('is bounded, says so, and is JSON that every database takes, whatever comes', (t) => {
  const word = fc.oneof(
    fc.string({ unit: anyCodePoint, maxLength: 400 }),
    fc.constantFrom('__proto__', '\0', '\ud800', 'a'),
  );
  const query = fc.array(fc.tuple(word, word), { maxLength: 60 });
  fc.assert(
    fc.property(
      query,
      fc.array(word, { maxLength: 100 }),
      fc.option(word, { nil: undefined }),
      (pairs, fields, user) => {
        const json = JSON.stringify(
          auditDetail(new URLSearchParams(pairs as [string, string][]), fields, user),
        );
        t.true(json.length < 12_000);
        t.false(/\\u0000|\\ud[89a-f]/.test(json));
        if (pairs.length > 32 || fields.length > 64) t.regex(json, /"truncated":true/);
      },
    ),
    { numRuns: 300 },
  );
});

test('a query of any length takes little time and room', (t) => {
  const detail = auditDetail(`q=${'%41'.repeat(1_000_000)}`, [], undefined);
  t.true(JSON.stringify(detail).length < 400);
  t.is(detail.truncated, true);
});
