import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import {
  type ChatChunk,
  type ChatDelta,
  type ModelClient,
  ModelErrors,
  type ModelProvider,
  ModelProvidersPoint,
  type ProvidedModel,
} from '../../../plugins/agent-engine/contract.ts';
import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import platform from '../../../plugins/platform/plugin.ts';
import records from '../../../plugins/records/plugin.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';
import { dataOf, textOfStream } from './chat-guards-kit.ts';

const MODELS = `
apiVersion: svc/v1
kind: Model
metadata: { name: own }
spec: { provider: plugin/acme/llm, model: big, base_url: 'https://llm.acme.test', api_key: env:ACME_KEY }
---
apiVersion: svc/v1
kind: Model
metadata: { name: safe }
spec: { provider: plugin/acme/llm, model: breaks, fallbacks: [backup] }
---
apiVersion: svc/v1
kind: Model
metadata: { name: backup }
spec: { provider: demo, model: demo }
---
apiVersion: svc/v1
kind: Model
metadata: { name: broken }
spec: { provider: plugin/acme/llm, model: breaks, base_url: 'https://breaks.test' }
---
apiVersion: svc/v1
kind: Model
metadata: { name: hanging }
spec: { provider: plugin/acme/llm, model: hangs, base_url: 'https://hangs.test' }
---
apiVersion: svc/v1
kind: Model
metadata: { name: limited }
spec: { provider: plugin/acme/llm, model: limits, base_url: 'https://limits.test' }
---
apiVersion: svc/v1
kind: Model
metadata: { name: half }
spec: { provider: plugin/acme/llm, model: halves, base_url: 'https://halves.test' }
---
apiVersion: svc/v1
kind: Model
metadata: { name: miscounting }
spec: { provider: plugin/acme/llm, model: miscounts, base_url: 'https://miscounts.test' }
---
apiVersion: svc/v1
kind: Model
metadata: { name: odd }
spec: { provider: plugin/acme/llm, model: odd, base_url: 'https://odd.test' }
`;

const head = { id: 'x', created: 1, model: 'big' };
const chunk = (delta: ChatDelta, finish_reason: string | null = null): ChatChunk => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason }],
});
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const usageOf = (name: string) => (name === 'miscounts' ? { ...usage, prompt_tokens: -3 } : usage);

/** A client that behaves as its model is called. */
function clientOf(name: string, ended: unknown[]): ModelClient {
  return {
    async complete(_request, { signal }) {
      if (name === 'breaks') throw new Error('password=hunter2secret');
      if (name === 'limits') throw ModelErrors.rateLimited();
      if (name === 'hangs') await new Promise(() => signal);
      if (name === 'halves') return { ...head, object: 'chat.completion', choices: [], usage };
      const content = name === 'odd' ? (5 as never) : 'Own words.';
      const message = { role: 'assistant', content };
      return {
        ...head,
        object: 'chat.completion',
        usage: usageOf(name),
        choices: [{ index: 0, message, finish_reason: 'stop' }],
      };
    },
    async *stream(_request, { signal }) {
      if (name === 'breaks') throw new Error('password=hunter2secret');
      if (name === 'hangs')
        await new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            ended.push(signal.reason);
            reject(signal.reason);
          });
        });
      yield chunk({ role: 'assistant', content: name === 'odd' ? (5 as never) : 'Own ' });
      yield chunk({ content: 'words.' });
      if (name === 'halves') return;
      yield { ...chunk({}, 'stop'), usage: usageOf(name) };
    },
  };
}

async function start(t: ExecutionContext) {
  const connected: ProvidedModel[] = [];
  /** Why streams that hung were ended, as their clients learned it. */
  const ended: unknown[] = [];
  const provider: ModelProvider = {
    name: 'plugin/acme/llm',
    connect(model) {
      connected.push(model);
      return clientOf(model.model, ended);
    },
  };
  const acme = testPlugin('acme', {
    setup: (scope) => scope.contribute(ModelProvidersPoint, provider),
  });
  const gateway = await startTestGateway({
    plugins: [records, agentEngine, platform, acme],
    env: { OBJECT_STORE_URL: 'none', ACME_KEY: 'acme-key', LLM_TIMEOUT: '2s', LLM_IDLE_TIMEOUT: '1s' },
  });
  t.teardown(gateway.stop);
  await writeFile(path.join(gateway.folder, 'agents.d', 'models.yaml'), MODELS);
  await until(async () => (await gateway.request('/v1/models')).body.data.length >= 10);
  const chat = (model: string, stream = false) =>
    gateway.request('/v1/chat/completions', {
      method: 'POST',
      body: { model, stream, messages: [{ role: 'user', content: 'Hi' }] },
    });
  return { gateway, chat, connected, ended };
}

test('a Model names the provider of a plugin, which is connected at its first call', async (t) => {
  const { chat, connected, gateway } = await start(t);
  t.is(connected.length, 0);
  const whole = await chat('own');
  t.is(whole.body.choices[0].message.content, 'Own words.');
  t.like(whole.body.usage, usage);
  const streamed = await chat('own', true);
  t.is(textOfStream(streamed.body), 'Own words.');
  t.is(dataOf(streamed.body).at(-1), '[DONE]');
  t.is(connected.length, 1);
  t.like(connected[0], { model: 'big', baseUrl: 'https://llm.acme.test', apiKey: 'acme-key' });
  const { body } = await gateway.request('/v1/models');
  t.like(
    body.data.find(({ id }: { id: string }) => id === 'own'),
    { owned_by: 'acme/llm' },
  );
});

test('what a provider of a plugin does wrong is a failure of the model, within its deadlines, with fallbacks and without its words', async (t) => {
  const { chat, ended } = await start(t);
  for (const [model, status, code] of [
    ['broken', 502, 'model.upstream'],
    ['hanging', 502, 'model.timeout'],
    ['half', 502, 'model.upstream'],
    ['odd', 502, 'model.upstream'],
  ] as const) {
    for (const isStream of [false, true]) {
      const { status: got, body } = await chat(model, isStream);
      if (model === 'half' && isStream) {
        t.regex(body, /event: error\ndata: .*model\.upstream.*\n\ndata: \[DONE\]/);
        continue;
      }
      t.deepEqual([got, body.error.code], [status, code], `${model} ${isStream}`);
      t.notRegex(JSON.stringify(body), /hunter2/);
    }
  }
  t.is(ended.length, 1, 'a client that hangs learns that its call is over');
  const limited = await chat('limited');
  t.deepEqual([limited.status, limited.body.error.code], [429, 'model.rate-limited']);
  t.is((await chat('safe')).status, 200);
});

test('counts of a provider of a plugin that are none do not spoil its answers', async (t) => {
  const { chat } = await start(t);
  const { status, body } = await chat('miscounting');
  t.is(status, 200);
  t.like(body.usage, { estimated: true });
  const streamed = await chat('miscounting', true);
  t.is(textOfStream(streamed.body), 'Own words.');
  t.notRegex(streamed.body, /event: error/);
});

test('while no plugin offers the provider its models are 503, and they work again with the plugin', async (t) => {
  const { chat, gateway, connected } = await start(t);
  const turn = (verb: string) => gateway.request(`/admin/v1/plugins/acme/${verb}`, { method: 'POST' });
  t.is((await chat('own')).status, 200);
  await turn('disable');
  const missing = await chat('own');
  t.deepEqual([missing.status, missing.body.error.code], [503, 'model.provider-missing']);
  await turn('enable');
  t.is((await chat('own')).body.choices[0].message.content, 'Own words.');
  t.true(connected.length >= 1);
});
