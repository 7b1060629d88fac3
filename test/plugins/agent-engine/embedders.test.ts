import test, { type ExecutionContext } from 'ava';
import {
  type Embedder,
  type EmbedderClient,
  type EmbedderSettings,
  EmbeddersPoint,
  type EmbeddingCall,
} from '../../../plugins/agent-engine/contract.ts';
import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import records from '../../../plugins/records/plugin.ts';
import { MemoryEntity } from '../../../plugins/records/store/memories.ts';
import runtime from '../../../plugins/runtime/plugin.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';

/** What the plugin's embedder is like; a test changes it while it runs. */
interface Behaviour {
  client: Partial<EmbedderClient>;
  embed: (texts: readonly string[], call: EmbeddingCall) => unknown;
}

/** "drink" and "beverage" mean the same to this one, and it shares no word with them. */
const meaningOf = (text: string): number[] => (/drink|beverage|tea/.test(text) ? [3, 0, 0] : [0, 4, 0]);

async function start(t: ExecutionContext, env: Readonly<Record<string, string>> = {}) {
  const connected: EmbedderSettings[] = [];
  const asked: { texts: readonly string[]; tenantId: string | undefined }[] = [];
  const behaviour: Behaviour = { client: {}, embed: (texts) => texts.map(meaningOf) };
  const embedder: Embedder = {
    name: 'plugin/acme/embed',
    connect(settings) {
      connected.push(settings);
      return {
        id: 'v1',
        dimensions: 3,
        async embed(texts, call) {
          asked.push({ texts, tenantId: call.tenantId });
          return behaviour.embed(texts, call) as number[][];
        },
        ...behaviour.client,
      };
    },
  };
  const acme = testPlugin('acme', { setup: (scope) => scope.contribute(EmbeddersPoint, { ...embedder }) });
  const gateway = await startTestGateway({
    plugins: [records, agentEngine, runtime, acme],
    env: {
      OBJECT_STORE_URL: 'none',
      EMBEDDING_PROVIDER: 'plugin/acme/embed',
      EMBEDDING_MODEL: 'big',
      EMBEDDING_API_URL: 'https://embed.acme.test',
      EMBEDDING_API_KEY: 'acme-key',
      ...env,
    },
  });
  t.teardown(gateway.stop);
  const tenant = await gateway.makeTenant();
  const memory = (path: string, body?: object) =>
    gateway.request(`/api/v2/memory/long-term${path}`, {
      token: tenant.token,
      ...(body && { method: 'POST', body }),
    });
  await memory('', { user_id: 'ana', content: 'green tea' });
  const search = async (q = 'beverage') => {
    const { status, body } = await memory(`/search?user_id=ana&q=${q}`);
    t.is(status, 200);
    return body.results.map(({ content }: { content: string }) => content);
  };
  const stored = async () => {
    const rows = await gateway.gateway.services.database
      .forTenant(tenant.id)
      .rows(MemoryEntity, {}, { limit: 9 });
    return rows.map(({ embeddingId, embedding }) => [embeddingId, embedding?.length]);
  };
  const turn = (verb: string) => gateway.request(`/admin/v1/plugins/acme/${verb}`, { method: 'POST' });
  return { gateway, tenant, search, stored, turn, connected, asked, behaviour };
}

test('memories are found by the vectors of a plugin, which learns the settings and the tenant', async (t) => {
  const { search, stored, connected, asked, tenant } = await start(t);
  t.deepEqual(await search(), ['green tea']);
  t.is(connected.length, 1);
  t.like(connected[0], { model: 'big', baseUrl: 'https://embed.acme.test', apiKey: 'acme-key' });
  t.deepEqual(new Set(asked.map(({ tenantId }) => tenantId)), new Set([tenant.id]));
  // Its length is 1 by then: three numbers of four bytes.
  t.deepEqual(await stored(), [['plugin/acme/embed/v1:3', 12]]);
});

test('other dimensions are other embeddings: stored vectors are made anew', async (t) => {
  const { search, stored, turn, behaviour } = await start(t);
  await search();
  behaviour.client = { dimensions: 2 };
  behaviour.embed = (texts) => texts.map((text) => meaningOf(text).slice(0, 2));
  await turn('reload');
  await turn('disable');
  await turn('enable');
  // The first search learns what there is now, the next one finds by it.
  await search();
  t.deepEqual(await search(), ['green tea']);
  t.deepEqual(await stored(), [['plugin/acme/embed/v1:2', 8]]);
});

test('what an embedder does wrong leaves a search to the words, and nothing of it is stored', async (t) => {
  const { search, stored, behaviour, gateway } = await start(t);
  const wrongs: Behaviour['embed'][] = [
    () => {
      throw new Error('password=hunter2secret');
    },
    (texts) => texts.map(() => [1, 2]),
    () => [],
    (texts) => texts.map(() => [Number.NaN, 0, 1]),
  ];
  for (const wrong of wrongs) {
    behaviour.embed = wrong;
    t.deepEqual(await search(), []);
    t.deepEqual(await search('tea'), ['green tea']);
  }
  t.deepEqual(await stored(), [[null, undefined]]);
  const logs = gateway.logs().join('\n');
  t.regex(logs, /the model provider of a plugin failed/);
  t.notRegex(logs, /hunter2/);
});

test('a size of vectors that is not the one of the settings is refused and said', async (t) => {
  const { search, stored, gateway } = await start(t, { EMBEDDING_DIMENSIONS: '4' });
  t.deepEqual(await search(), []);
  t.deepEqual(await stored(), [[null, undefined]]);
  t.regex(gateway.logs().join('\n'), /has 3 dimensions, and EMBEDDING_DIMENSIONS is 4/);
});

test('while no plugin offers the embedder memories are searched by words, and the log says why', async (t) => {
  const { search, turn, gateway } = await start(t);
  await turn('disable');
  t.deepEqual(await search(), []);
  t.deepEqual(await search('tea'), ['green tea']);
  t.regex(
    gateway.logs().join('\n'),
    /EMBEDDING_PROVIDER names plugin\/acme\/embed, which no plugin that runs offers/,
  );
  await turn('enable');
  await search();
  t.deepEqual(await search(), ['green tea']);
});

test('a name that nobody offers is a warning at the start, with the one that was meant', async (t) => {
  const { gateway } = await start(t, { EMBEDDING_PROVIDER: 'plugin/acme/embde' });
  await until(() =>
    /names plugin\/acme\/embde, .*did you mean plugin\/acme\/embed\?/.test(gateway.logs().join('\n')),
  );
  t.pass();
});

test('a value that is neither a word nor a name is refused with its place', async (t) => {
  const yaml = 'plugins:\n  agent-engine:\n    config:\n      embedding_provider: plugin/Acme\n';
  const gateway = await startTestGateway({
    plugins: [records, agentEngine],
    yaml,
    env: { OBJECT_STORE_URL: 'none' },
  });
  t.teardown(gateway.stop);
  const { body } = await gateway.request('/admin/v1/plugins/agent-engine');
  t.regex(
    JSON.stringify(body),
    /gateway\.yaml:4: .*embedding_provider.* is not one of openai, plugin\/<plugin>\/<name>/,
  );
});
