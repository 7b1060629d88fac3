import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { bundledPlugins, pluginConformance, startTestGateway, testDatabases } from 'agent-gateway/testing';
import conformance from './conformance.ts';
import plugin from './plugin.ts';

const databases = testDatabases();
const options = { ...conformance, databases: Object.values(databases) };
for (const { title, run } of pluginConformance(plugin, options)) test(title, run);

for (const [name, database] of Object.entries(databases)) {
  test(`an agent counts words with the tool (${name})`, async () => {
    await using gateway = await start(database);
    const body = { messages: [{ role: 'user', content: 'Use textkit_count_words, please.' }] };
    const answer = await gateway.request('/v1/agent/chat', { method: 'POST', body });
    assert.match(answer.body.choices[0].message.content, /textkit_count_words returned: 3/);
    const receipts = await gateway.request('/v1/execution-receipts');
    const [receipt] = receipts.body.execution_receipts;
    assert.deepEqual(
      [receipt.tool_name, receipt.status, receipt.output],
      ['textkit_count_words', 'success', '3'],
    );
  });

  test(`a workflow shortens a text, and says why it cannot (${name})`, async () => {
    await using gateway = await start(database);
    const run = async (text: string) => {
      const body = { definition_id: 'teaser', input: { text } };
      const started = await gateway.request('/v1/workflow-runs?wait=20', { method: 'POST', body });
      return (await gateway.request(`/v1/workflow-runs/${started.body.id}`)).body;
    };
    const shortened = await run('To be, or not to be');
    assert.equal(shortened.status, 'completed');
    assert.deepEqual(shortened.steps[1].output, { text: 'To be, or no' });
    const failed = await run('');
    assert.deepEqual(failed.error, {
      code: 'empty',
      message: 'The text to shorten is empty',
      node: 'shorten',
    });
  });
}

/** A gateway with its bundled plugins, textkit, and the workflow of `agents.d`. */
async function start(database: string) {
  const plugins = [...(await bundledPlugins()), plugin];
  return startTestGateway({
    plugins,
    database,
    env: { SVC_AGENTS_DIR: join(import.meta.dirname, 'agents.d') },
  });
}
