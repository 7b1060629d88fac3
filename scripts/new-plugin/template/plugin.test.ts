import { pluginConformance, startTestGateway, testDatabases } from 'agent-gateway/testing';
import test from 'ava';
import conformance from './conformance.ts';
import plugin from './plugin.ts';

// SQLite, and the servers that TEST_POSTGRES_URL and TEST_MYSQL_URL name.
const databases = testDatabases();
const options = { ...conformance, databases: Object.values(databases) };
for (const { title, run } of pluginConformance(plugin, options)) {
  test.serial(title, async (t) => {
    await t.notThrowsAsync(run);
  });
}

for (const [name, database] of Object.entries(databases)) {
  test.serial(`an item is added, read and deleted (${name})`, async (t) => {
    await using gateway = await startTestGateway({ plugins: [plugin], database });
    const added = await gateway.request('/v1/kebab-name', { method: 'POST', body: { text: 'Hello' } });
    t.is(added.status, 201);
    const path = `/v1/kebab-name/${added.body.id}`;
    t.is((await gateway.request(path)).body.text, 'Hello');
    t.is((await gateway.request(path, { method: 'DELETE' })).status, 204);
    t.is((await gateway.request(path)).body.code, 'kebab-name.not-found');
  });
}
