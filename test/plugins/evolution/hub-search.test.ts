import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import evolution from '../../../plugins/evolution/plugin.ts';
import { createHubSearch } from '../../../plugins/evolution/services/exchange/hub-search.ts';
import { startTestGateway } from '../../../testing/index.ts';

test('settings that no hub would accept stop the start, and are named', async (t) => {
  const hub = { EVOLUTION_HUB_URL: 'http://127.0.0.1:9' };
  const start = (env: Readonly<Record<string, string>>) => startTestGateway({ plugins: [evolution], env });
  for (const id of ['Our gateway', '-a', 'über', 'a/b']) {
    const message = /EVOLUTION_SENDER_ID: must be letters, digits and/;
    await t.throwsAsync(start({ ...hub, EVOLUTION_SENDER_ID: id }), { message }, id);
  }
  await (await start({ ...hub, EVOLUTION_SENDER_ID: 'eu.prod:gateway-1' })).stop();
  await (await start({ EVOLUTION_SENDER_ID: 'Our gateway' })).stop();
  for (const url of ['ftp://a', 'https://user@a', 'https://:word@a', 'https://a/?key=b', 'https://a/#b']) {
    const message = /EVOLUTION_HUB_URL: must be/;
    await t.throwsAsync(start({ EVOLUTION_HUB_URL: url }), { message }, url);
  }
  await (await start({ EVOLUTION_HUB_URL: 'http://127.0.0.1:9/below/' })).stop();
});

/** A hub that answers every search with these genes. */
async function startHub(t: ExecutionContext, results: readonly unknown[]) {
  const server = http.createServer((_, response) => response.end(JSON.stringify({ results })));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, apiKey: undefined };
}

test('of several hubs the genes that claim most come first, each once, and one that is away costs its own', async (t) => {
  const many = Array.from({ length: 200 }, (_, at) => ({ geneId: `a${at}`, confidence: 0.5 }));
  const shared = { geneId: 'shared', confidence: 0.7 };
  const first = await startHub(t, [shared, ...many, null, { geneId: 'liar', confidence: 7 }]);
  const other = await startHub(t, [
    { geneId: 'best', confidence: 0.9 },
    { ...shared, confidence: 0.6 },
  ]);
  const away = { url: 'http://127.0.0.1:9', apiKey: undefined };
  const found = await createHubSearch([first, away, other])('x', AbortSignal.timeout(10_000));
  t.deepEqual(found.slice(0, 3), [{ geneId: 'best', confidence: 0.9 }, shared, many[0]]);
  t.is(found.length, 204);
});
