import test from 'ava';
import { credentialSamples } from '../foundation/redaction/credential-samples.ts';
import { SEED, sample } from '../support/sample.ts';
import { until } from '../support/until.ts';
import { findKept, startKeeping } from './kept-credentials.ts';

test('no credential that a client puts anywhere is kept or told', async (t) => {
  t.deepEqual(await findKept(t, sample(t, credentialSamples(SEED), 8)), []);
});

test('a session id or a user that is a credential is refused, and the field is named', async (t) => {
  const { request } = await startKeeping(t);
  const body = { model: 'demo', messages: [{ role: 'user', content: 'Hello' }] };
  const key = `ghp_${'a1B2'.repeat(9)}`;
  for (const name of ['x-svc-session-id', 'x-svc-user-id']) {
    const { status, body: answer } = await request('/v1/chat/completions', {
      method: 'POST',
      headers: { [name]: key },
      body,
    });
    t.is(status, 400);
    t.regex(JSON.stringify(answer), new RegExp(name, 'i'));
    t.notRegex(JSON.stringify(answer), /ghp_a1/);
  }
});

test('what is no credential stays as it was sent', async (t) => {
  const { request } = await startKeeping(t);
  const session = '0198c0de-7c1d-7e55-8a0b-3c1f5c9d2e10';
  const query = {
    q: 'how do I use npm_packageconfigregistryurl?',
    etag: 'W/"33a64df551425fcc55e4d42a148795d9f25f89d4"',
    host: 'ssh://git.example.com:22',
    session_id: session,
    since: '2026-11-23T06:54:23Z',
    note: '100 % of a+b, SGVsbG8sIHdvcmxkISBIb3cgYXJlIHlvdT8=',
    'X-Filter': 'tenantPlan-2024_west_europe_17',
  };
  const agent =
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36';
  const target = `/v1/sessions/${session}`;
  const headers = {
    'x-request-id': 'req-2026.11_a1b2c3d4e5f6',
    'user-agent': agent,
    'x-svc-user-id': 'auth0|5f7c8ec7c33c6c004bbafe82',
  };
  await request(`${target}?${new URLSearchParams(query)}`, { headers });
  const find = async () =>
    (await request('/admin/v1/audit-logs')).body.audit_logs.find(
      (record: { request_id: string }) => record.request_id === headers['x-request-id'],
    );
  await until(async () => (await find()) !== undefined);
  t.like(await find(), {
    action: `GET ${target}`,
    user_agent: agent,
    detail: { query, svc_user_id: headers['x-svc-user-id'] },
  });
});
