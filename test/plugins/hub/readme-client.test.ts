import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { markOf, readBlocks } from '../../examples/readme-blocks.ts';
import { until } from '../../support/until.ts';
import { gene, keyed, listen, startHub } from './hub-kit.ts';

const README = path.resolve(import.meta.dirname, '../../../plugins/hub/README.md');

/** The client of the README, as somebody would save it. */
async function savedClient(t: ExecutionContext) {
  const shown = readBlocks(await readFile(README, 'utf8'));
  const code = shown.find((block) => markOf(block, 'file') === 'hub-client.mjs')!.text;
  const folder = await mkdtemp(path.join(tmpdir(), 'hub-client-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'hub-client.mjs');
  await writeFile(file, code);
  return import(pathToFileURL(file).href);
}

test('the client that the README shows talks to a hub, and recognizes what the hub sends', async (t) => {
  const { createNode, isFromHub } = await savedClient(t);
  const hub = await startHub(t);
  const received: { method: string; path: string; headers: Record<string, string>; body: Buffer }[] = [];
  const url = await listen(t, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = '', url: target = '', headers } = request;
    received.push({
      method,
      path: target,
      headers: headers as Record<string, string>,
      body: Buffer.concat(chunks),
    });
    response.writeHead(204).end();
  });
  const node = createNode(hub.url, 'node-a');
  const claim = { node_id: node.id, endpoint: url, public_key: node.publicKey };
  t.is((await keyed(hub, 'POST', '/api/v1/nodes', claim)).status, 201);
  t.is((await node.fetchSigned('PUT', '/api/v1/nodes/node-a/heartbeat')).status, 200);

  const wanted = { callback_url: `${url}/genes?of=me`, events: ['gene_promoted'] };
  t.is((await keyed(hub, 'POST', '/api/v1/subscriptions', wanted)).status, 201);
  const event = { type: 'gene_promoted', gene: { ...gene('gene-1'), contributorId: 'anonymous' } };
  t.is((await node.fetchSigned('POST', '/api/v1/events', event)).status, 202);
  await until(() => received.length > 0);
  const { keys } = (await keyed(hub, 'GET', '/api/v1/keys')).body;
  const [delivery] = received;
  t.true(isFromHub(keys, delivery));
  t.false(isFromHub(keys, { ...delivery, path: '/genes?of=you' }));
  t.false(isFromHub(keys, { ...delivery, body: Buffer.from('{}') }));
  t.is((await node.fetchSigned('DELETE', '/api/v1/nodes/node-a')).status, 204);
});
