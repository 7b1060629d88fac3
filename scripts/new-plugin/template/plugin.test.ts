import { pluginConformance, startTestGateway } from 'agent-gateway/testing';
import test from 'ava';
import conformance from './conformance.ts';
import plugin from './plugin.ts';

for (const { title, run } of pluginConformance(plugin, conformance)) {
  test.serial(title, async (t) => {
    await t.notThrowsAsync(run);
  });
}

test.serial('an item is added, read and deleted', async (t) => {
  await using gateway = await startTestGateway({ plugins: [plugin] });
  const added = await gateway.request('/v1/kebab-name', { method: 'POST', body: { text: 'Hello' } });
  t.is(added.status, 201);
  t.is((await gateway.request(`/v1/kebab-name/${added.body.id}`)).body.text, 'Hello');
  t.is((await gateway.request(`/v1/kebab-name/${added.body.id}`, { method: 'DELETE' })).status, 204);
  t.is((await gateway.request(`/v1/kebab-name/${added.body.id}`)).body.code, 'kebab-name.not-found');
});
