import test from 'ava';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { eraseFrom, exportedBy, readerPlugin } from '../../support/personal-data.ts';
import { ask, DEFINITIONS, RUNS, startWorkflows, TASKS } from './plugin-kit.ts';
import { chain } from './routes/runs-gateway.ts';

eachGatewayDatabase(
  test,
  'the plugin contributes what it keeps about people, for export and deletion',
  async (t, fresh) => {
    const reader = readerPlugin();
    const gateway = await startWorkflows(t, { env: { ...fresh.environment }, plugins: [reader.plugin] });
    const { database } = gateway.gateway.services;
    const data = reader.contribution('workflow');
    const tenant = await gateway.makeTenant();
    const { apiKeys } = gateway.gateway.services;
    const key = async (name: string) => {
      const wanted = { tenantId: tenant.id, name, roles: ['user'], scopes: [] };
      const { key: token, record } = await apiKeys.create({ ...wanted, expiresAt: null, createdBy: null });
      const post = async (path: string, body: object = {}) =>
        (await gateway.request(path, { method: 'POST', token, body })).body;
      return { id: record.id, token, post };
    };
    const [ada, bob] = [await key('ada'), await key('bob')];
    const { id } = await ada.post(DEFINITIONS, { name: 'flow', graph: chain(ask) });
    await ada.post(`${DEFINITIONS}/${id}/publish`);
    await ada.post(`${RUNS}?wait=10`, { definition_id: id });
    const his = await bob.post(`${RUNS}?wait=10`, { definition_id: id });
    for (const task of (await gateway.request(TASKS, { token: ada.token })).body) {
      if (task.run_id === his.id) await ada.post(`${TASKS}/${task.step_run_id}/complete`);
    }

    const exported = async (userId?: string) => {
      const records = await exportedBy(data, { tenantId: tenant.id, userId });
      return records.map(({ section }) => section);
    };
    const erase = (userId?: string) => eraseFrom(database, data, { tenantId: tenant.id, userId });

    t.deepEqual(await exported(), [
      'workflow_definitions',
      'workflow_versions',
      'workflow_runs',
      'workflow_runs',
    ]);
    t.deepEqual(await exported(ada.id), ['workflow_definitions', 'workflow_versions', 'workflow_runs']);
    t.deepEqual(await exported(bob.id), ['workflow_runs']);
    t.like(await erase(ada.id), { workflow_runs: 1, workflow_steps: 2 });
    const told = async () => {
      const [run, events, definition] = await Promise.all(
        [`${RUNS}/${his.id}`, `${RUNS}/${his.id}/events`, `${DEFINITIONS}/${id}`].map(
          async (path) => (await gateway.request(path, { token: bob.token })).body,
        ),
      );
      return JSON.stringify([run, events, definition]);
    };
    t.notRegex(await told(), new RegExp(ada.id));
    t.regex(await told(), /erased-/);
    t.regex(await told(), new RegExp(bob.id));
    t.like(await erase(), { workflow_runs: 1, workflow_versions: 1, workflow_definitions: 1 });
    t.deepEqual(await exported(), []);
  },
);
