import test from 'ava';
import { eachGatewayDatabase } from '../support/databases.ts';
import { startReplicas } from './replicas.ts';

eachGatewayDatabase(test, '20 simultaneous bootstraps on two replicas make one key', async (t, fresh) => {
  const replicas = await startReplicas(t, fresh, { SVC_BOOTSTRAP_RATE_LIMIT_RPM: '1000' });
  for (const { request } of replicas) {
    t.deepEqual((await request('/admin/v1/bootstrap/status')).body, { bootstrap_required: true });
  }

  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      replicas[index % 2]!.request('/admin/v1/bootstrap', { method: 'POST', body: { name: `n${index}` } }),
    ),
  );

  const made = answers.filter(({ status }) => status === 201);
  const refused = answers.filter(({ status }) => status === 403);
  t.is(made.length, 1);
  t.is(refused.length, 19);
  t.deepEqual([...new Set(refused.map(({ body }) => body.code))], ['bootstrap.completed']);
  for (const { request } of replicas) {
    t.deepEqual((await request('/admin/v1/bootstrap/status')).body, { bootstrap_required: false });
    const { body } = await request('/v1/api-keys', { token: made[0]!.body.key });
    t.is(body.total, 1);
    t.is(body.api_keys[0].id, made[0]!.body.id);
  }
});
