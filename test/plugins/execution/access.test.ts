import test from 'ava';
import { startJobs } from './jobs-kit.ts';

test('starting, resuming and cancelling need execute, reading needs read', async (t) => {
  const gateway = await startJobs(t);
  const { start, request, gateway: running } = gateway;
  const id = await start('test/ask');
  const keyWith = async (scopes: readonly string[]) => {
    const tenantId = '00000000-0000-0000-0000-000000000001';
    const settings = { tenantId, name: 'k', roles: ['user'], expiresAt: null, createdBy: null };
    return (await running.services.apiKeys.create({ ...settings, scopes })).key;
  };
  const [reader, runner] = [await keyWith(['read']), await keyWith(['execute'])];
  const started = { graph_name: 'test/empty' };
  for (const [method, path, body, who] of [
    ['GET', '/jobs', undefined, reader],
    ['GET', `/jobs/${id}`, undefined, reader],
    ['POST', '/jobs', started, runner],
    ['POST', `/jobs/${id}/resume`, {}, runner],
    ['POST', `/jobs/${id}/cancel`, {}, runner],
  ] as const) {
    const other = who === reader ? runner : reader;
    t.is((await request(path, { method, body, token: other })).status, 403, path);
    t.not((await request(path, { method, body, token: who })).status, 403, path);
  }
});

test('a job of another tenant is not there', async (t) => {
  const { start, request, makeTenant, reaches } = await startJobs(t);
  const id = await start('test/ask');
  await reaches(id, 'waiting');
  const { token } = await makeTenant();
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/stream'],
    ['POST', '/cancel'],
    ['POST', '/resume'],
  ]) {
    const body = method === 'POST' ? {} : undefined;
    const answer = await request(`/jobs/${id}${path}`, { method: method!, body, token });
    t.is(answer.status, 404, path);
    t.is(answer.body.code, 'job.not-found');
  }
  t.is((await request('/jobs', { token })).body.total, 0);
  t.is((await request(`/jobs/${id}`)).body.status, 'waiting');
});

test('a task is completed by whom it is assigned to', async (t) => {
  const { start, post, reaches, gateway } = await startJobs(t);
  const id = await start('test/mine');
  await reaches(id, 'waiting');
  const settings = { name: 'k', scopes: [], expiresAt: null, createdBy: null, roles: ['user'] };
  const tenantId = '00000000-0000-0000-0000-000000000001';
  const { key } = await gateway.services.apiKeys.create({ ...settings, tenantId });
  const refused = await post(`/jobs/${id}/resume`, {}, { token: key });
  t.is(refused.status, 403);
  t.is(refused.body.code, 'job.not-assigned');
  t.is((await post(`/jobs/${id}/resume`)).status, 200);
});

test('without a credential only callers on the loopback interface are served, as the default tenant', async (t) => {
  const { request, start } = await startJobs(t);
  const id = await start('test/empty');
  t.is((await request(`/jobs/${id}`, { token: null })).status, 200);
  const body = { graph_name: 'test/empty' };
  t.is((await request('/jobs', { method: 'POST', body, token: null })).status, 202);
  const headers = { forwarded: 'for=203.0.113.9' };
  t.is((await request('/jobs', { token: null, headers })).status, 401);
  const closed = await startJobs(t, { env: { SVC_ALLOW_ANONYMOUS: 'false' } });
  t.is((await closed.request('/jobs', { token: null })).status, 401);
});
