import { generateKeyPairSync } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { send } from '../support/request.ts';
import { until } from '../support/until.ts';

const SESSION = 'kept-session';
const CONTENT = 'A file that has to come back, byte by byte.';
const SKILL = '---\nname: tea\ndescription: About tea\nversion: 1.0.0\n---\nBoil water.\n';
const NODE = { node_id: 'tea-house', endpoint: 'http://127.0.0.1:8080', capabilities: ['genes'] };
const LAST = 'the-last-before-the-backup';

/** Who may look at what was made, and where it is. */
export interface MadeData {
  /** Of the operator: the token that the gateway has made for itself. */
  readonly token: string;
  /** Of a tenant's administrator. */
  readonly key: string;
  readonly tenantId: string;
  readonly fileId: string;
  readonly webhookId: string;
  /** With which the webhook's events are signed. */
  readonly webhookSecret: string;
  /** With which the hub signs. */
  readonly hubKey: string;
  /** Of a job that waits for a person. */
  readonly jobId: string;
}

/** Makes a bit of everything that is kept, as clients do. */
export async function makeData(
  t: ExecutionContext,
  url: string,
  token: string,
  hook: string,
): Promise<MadeData> {
  const ask = async (method: string, where: string, body: unknown, by: string, headers = {}) => {
    const answer = await send(`${url}${where}`, { method, body, token: by, headers });
    t.true(answer.status < 300, `${where}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  // Who looks for records asks more often than people do.
  await ask('PUT', '/v1/tenants/00000000-0000-0000-0000-000000000001', { rate_limit_rpm: 100_000 }, token);
  const { id: tenantId } = await ask('POST', '/v1/tenants', { name: 'Tea' }, token);
  const grant = { name: 'kept', tenant_id: tenantId, roles: ['admin', 'user'] };
  const { key } = await ask('POST', '/v1/api-keys', grant, token);
  const messages = [{ role: 'user', content: 'Remember the kettle' }];
  const session = { 'x-svc-session-id': SESSION };
  await ask('POST', '/v1/chat/completions', { model: 'default', messages }, key, session);
  const form = `--tea\r\nContent-Disposition: form-data; name="file"; filename="tea.txt"\r\n\r\n${CONTENT}\r\n--tea--\r\n`;
  const multipart = { 'content-type': 'multipart/form-data; boundary=tea' };
  const { file } = await ask('POST', '/api/v2/files', form, key, multipart);
  await ask('PUT', '/v1/memories/tea', { value: 'green' }, key);
  await ask('PUT', '/v1/skills/tea', SKILL, key, { 'content-type': 'text/plain' });
  const hooks = { url: hook, events: ['workflow.*'] };
  const { webhook, secret } = await ask('POST', '/api/v2/admin/webhooks', hooks, key);
  await ask('POST', '/api/v1/nodes', { ...NODE, public_key: nodeKey() }, token);
  const { keys } = await ask('GET', '/api/v1/keys', undefined, token);
  const { job_id: jobId } = await ask('POST', '/jobs', { graph_name: 'brew' }, key);
  await until(async () => (await ask('GET', `/jobs/${jobId}`, undefined, key)).status === 'waiting');
  await ask('GET', '/v1/me', undefined, key, { 'x-request-id': LAST });
  const ids = { tenantId, fileId: file.id, webhookId: webhook.id, jobId };
  return { token, key, ...ids, webhookSecret: secret, hubKey: keys[0].public_key };
}

/** A public key as nodes send it. */
function nodeKey(): string {
  const { publicKey } = generateKeyPairSync('ed25519');
  return publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64');
}

/** Finds all of it, with the credentials of then; `auditIds` are records that were in a journal alone. */
export async function findData(
  t: ExecutionContext,
  url: string,
  { token, key, tenantId, fileId, webhookId, hubKey, jobId }: MadeData,
  auditIds: readonly string[],
): Promise<void> {
  const get = async (where: string, by = key) => {
    const answer = await send(`${url}${where}`, { token: by });
    t.is(answer.status, 200, `${where}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  t.is((await get(`/v1/tenants/${tenantId}`, token)).name, 'Tea');
  t.is((await get('/v1/me')).tenant_id, tenantId);
  const { messages } = await get(`/v1/sessions/${SESSION}`);
  t.is(messages[0].content, 'Remember the kettle');
  t.is(messages.length, 2);
  t.is((await get('/v1/usage')).data[0].requests, 1);
  t.is(await get(`/api/v2/files/${fileId}/content`), CONTENT);
  t.is((await get('/v1/memories')).memories[0].value, 'green');
  t.is(await get('/v1/skills/tea'), SKILL);
  t.true((await get('/api/v2/agents')).agents.some(({ name }: { name: string }) => name === 'keeper'));
  const { nodes } = await get('/api/v1/nodes', token);
  t.deepEqual(
    nodes.map(({ node_id }: { node_id: string }) => node_id),
    [NODE.node_id],
  );
  t.is((await get('/api/v1/keys', token)).keys[0].public_key, hubKey);
  t.is((await get(`/jobs/${jobId}`)).status, 'waiting');
  const resumed = await send(`${url}/jobs/${jobId}/resume`, { method: 'POST', token: key, body: {} });
  t.is(resumed.status, 200, JSON.stringify(resumed.body));
  await until(async () => (await get(`/jobs/${jobId}`)).status === 'completed');
  const logs = await get(`/v1/audit-logs?limit=500`, key);
  const last = logs.audit_logs.filter(({ request_id }: { request_id: string }) => request_id === LAST);
  t.is(last.length, 1, 'the last record, once');
  t.is(
    (await get('/v1/tenants', token)).tenants.some(({ name }: { name: string }) => name === 'After'),
    false,
  );
  await until(async () => {
    const { audit_logs: all } = await get('/admin/v1/audit-logs?limit=500&action=GET%20/v1/tenants', token);
    const found = new Set(all.map(({ id }: { id: string }) => id));
    return auditIds.every((id) => found.has(id));
  });
  const tried = await send(`${url}/api/v2/admin/webhooks/${webhookId}/test`, { method: 'POST', token: key });
  t.is(tried.status, 200, JSON.stringify(tried.body));
}
