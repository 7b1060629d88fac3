import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pluginConformance, startTestGateway } from 'agent-gateway/testing';
import conformance from './conformance.ts';
import plugin from './plugin.ts';

for (const { title, run } of pluginConformance(plugin, conformance)) test(title, run);

test('it starts in a whole gateway', async () => {
  await using gateway = await startTestGateway({ plugins: [plugin] });
  const { body } = await gateway.request('/admin/v1/plugins/kebab-name');
  assert.equal(body.state, 'active', body.reason);
});

//#if routes
test('an item is added, read and deleted', async () => {
  await using gateway = await startTestGateway({ plugins: [plugin] });
  const added = await gateway.request('/v1/kebab-name', { method: 'POST', body: { text: 'Hello' } });
  assert.equal(added.status, 201);
  assert.equal((await gateway.request(`/v1/kebab-name/${added.body.id}`)).body.text, 'Hello');
  assert.equal(
    (await gateway.request(`/v1/kebab-name/${added.body.id}`, { method: 'DELETE' })).status,
    204,
  );
  assert.equal((await gateway.request(`/v1/kebab-name/${added.body.id}`)).body.code, 'kebab-name.not-found');
});
//#end
