import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pluginConformance, startTestGateway, testDatabases } from 'agent-gateway/testing';
import conformance from './conformance.ts';
import plugin from './plugin.ts';

// SQLite, and the servers that TEST_POSTGRES_URL and TEST_MYSQL_URL name.
const databases = testDatabases();
const options = { ...conformance, databases: Object.values(databases) };
for (const { title, run } of pluginConformance(plugin, options)) test(title, run);

test('it starts in a whole gateway', async () => {
  await using gateway = await startTestGateway({ plugins: [plugin] });
  const { body } = await gateway.request('/admin/v1/plugins/kebab-name');
  assert.equal(body.state, 'active', body.reason);
});

//#if routes
for (const [name, database] of Object.entries(databases)) {
  test(`an item is added, read and deleted (${name})`, async () => {
    await using gateway = await startTestGateway({ plugins: [plugin], database });
    const added = await gateway.request('/v1/kebab-name', { method: 'POST', body: { text: 'Hello' } });
    assert.equal(added.status, 201);
    const path = `/v1/kebab-name/${added.body.id}`;
    assert.equal((await gateway.request(path)).body.text, 'Hello');
    assert.equal((await gateway.request(path, { method: 'DELETE' })).status, 204);
    assert.equal((await gateway.request(path)).body.code, 'kebab-name.not-found');
  });
}
//#end
