import test from 'ava';
import { startTestGateway, type TestGateway } from '../../testing/index.ts';
import { until } from '../support/until.ts';

const readiness = ({ request }: TestGateway) => request('/health/ready', { token: null });

test('while the disk of SQLite is full the gateway says so, loses no audit record, and comes back by itself', async (t) => {
  const gateway = await startTestGateway();
  t.teardown(gateway.stop);
  const { request } = gateway;
  const pages = (most: number) =>
    gateway.gateway.services.database.system().execute(`pragma max_page_count = ${most}`);
  const remember = (name: string) =>
    request(`/v1/memories/${name}`, {
      method: 'PUT',
      body: { value: 'x'.repeat(2_000) },
      headers: { 'x-request-id': name },
    });
  t.is((await remember('before')).status, 200);

  await pages(1);

  const sent: string[] = [];
  // A small record may find room in a page where a larger one did not: until nothing fits.
  await until(async () => {
    sent.push(`full-${sent.length}`);
    const { status, body } = await remember(sent.at(-1)!);
    if (status === 200) return false;
    t.is(status, 503);
    t.like(body, { code: 'database.unavailable' });
    const ready = await readiness(gateway);
    if (ready.status === 503) t.is(ready.body.database, 'error: unavailable');
    return ready.status === 503;
  });
  await until(async () => /disk is full/.test((await request('/admin/v1/readiness')).body.database.reason));
  t.is((await request('/v1/memories')).status, 200);

  await pages(1_000_000);

  // No request writes: the records that wait do.
  await until(async () => (await readiness(gateway)).status === 200);
  t.is((await remember('after')).status, 200);
  await until(async () => {
    const { audit_logs: logs } = (await request('/admin/v1/audit-logs?limit=500')).body;
    const ids = new Set(logs.map(({ request_id }: { request_id: string }) => request_id));
    return ['before', ...sent, 'after'].every((id) => ids.has(id));
  });
});
