import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { SecretStoresPoint } from 'agent-gateway';
import test from 'ava';
import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import platform from '../../../plugins/platform/plugin.ts';
import records from '../../../plugins/records/plugin.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { json, startFakeProvider } from '../../support/fake-provider.ts';
import { testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';

const answer = {
  id: 'x',
  object: 'chat.completion',
  created: 1,
  model: 'big',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

test('the key of a model is in the store of a plugin, which may come later, and may change', async (t) => {
  await using provider = await startFakeProvider(json(200, answer));
  let key: string | undefined = 'first-key-of-acme';
  const acme = testPlugin('acme', {
    setup: (scope) =>
      scope.contribute(SecretStoresPoint, {
        name: 'plugin/acme/vault',
        read: async ({ path: wanted, key: member }) =>
          wanted === 'llm' && member === 'key' ? key : undefined,
      }),
  });
  const gateway = await startTestGateway({
    plugins: [records, agentEngine, platform, acme],
    env: { OBJECT_STORE_URL: 'none', SVC_SECRET_MAX_AGE: '1s' },
  });
  t.teardown(gateway.stop);
  const turn = (verb: string) => gateway.request(`/admin/v1/plugins/acme/${verb}`, { method: 'POST' });
  await turn('disable');
  const model = (name: string, more: string) => `apiVersion: svc/v1
kind: Model
metadata: { name: ${name} }
spec: { provider: openai, model: big, base_url: '${provider.url}', ${more} }
`;
  const files = [
    model('own', "api_key: 'plugin/acme/vault:llm#key'"),
    model('safe', "api_key: 'plugin/acme/vault:none', fallbacks: [backup]"),
    `apiVersion: svc/v1\nkind: Model\nmetadata: { name: backup }\nspec: { provider: demo, model: demo }\n`,
  ];
  await writeFile(path.join(gateway.folder, 'agents.d', 'models.yaml'), files.join('---\n'));
  await until(async () => (await gateway.request('/v1/models')).body.data.length >= 5);
  const chat = (name = 'own') =>
    gateway.request('/v1/chat/completions', {
      method: 'POST',
      body: { model: name, messages: [{ role: 'user', content: 'Hi' }] },
    });
  const sent = () => provider.requests.at(-1)?.headers.authorization;

  const missing = await chat();
  t.deepEqual([missing.status, missing.body.error.code], [503, 'model.key-unavailable']);
  t.is(provider.requests.length, 0);
  await turn('enable');
  t.is((await chat()).status, 200);
  t.is(sent(), 'Bearer first-key-of-acme');
  t.is((await chat('safe')).status, 200, 'the fallback answers');

  key = 'second-key-of-acme';
  await until(async () => {
    t.is((await chat()).status, 200);
    return sent() === 'Bearer second-key-of-acme';
  });
  // A line break cannot be in a header.
  key = 'third\nkey';
  await until(async () => (await chat()).body.error?.code === 'model.key-unavailable');
  key = 'fourth-key-of-acme';
  await until(async () => (await chat()).status === 200);
  t.is(sent(), 'Bearer fourth-key-of-acme');
  t.notRegex(gateway.logs().join('\n'), /key-of-acme|third/);
});
