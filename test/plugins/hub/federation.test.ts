import { createHash, createPublicKey, verify } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import test from 'ava';
import { createFederation } from '../../../plugins/hub/services/federation.ts';
import { manualClock } from '../../../testing/index.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import {
  envelope,
  gene,
  genesAt,
  keyed,
  listen,
  makeNode,
  register,
  send,
  signed,
  startHub,
} from './hub-kit.ts';

const SEARCH = '/api/v1/federation/genes';
const json = { 'content-type': 'application/json' };

eachGatewayDatabase(
  test,
  'one gene for each id: the most trusted, then the newest, with its contributor',
  async (t, fresh) => {
    const hub = await startHub(t, fresh.environment);
    const old = { confidence: 0.6, updatedAt: '2029-01-01T00:00:00.000Z' };
    const a = await genesAt(t, () => [
      gene('both', { ...old, contributorId: 'a' }),
      gene('same', { contributorId: 'a', updatedAt: '2030-02-01T00:00:00.000Z' }),
      gene('only-a', { contributorId: 'anonymous', taskClass: 'letters' }),
      gene('weak', { confidence: 0.2 }),
    ]);
    const b = await genesAt(t, () => [
      gene('both', { confidence: 0.9, contributorId: 'b' }),
      gene('same', { contributorId: 'b' }),
      { geneId: 'no confidence' },
      gene('liar', { confidence: 7 }),
      'nothing',
    ]);
    await register(hub, makeNode('node-a'), a);
    await register(hub, makeNode('node-b'), b);
    const found = await keyed(hub, 'GET', SEARCH);
    t.is(found.status, 200);
    t.like(found.body, { nodes_queried: 2, nodes_healthy: 2 });
    const seen = found.body.results.map((one: { geneId: string; contributorId: string }) => [
      one.geneId,
      one.contributorId,
    ]);
    t.deepEqual(seen, [
      ['both', 'b'],
      ['only-a', 'anonymous'],
      ['same', 'a'],
      ['weak', 'anonymous'],
    ]);
    t.like(found.body.results[0], { source: 'hub', name: 'Use it (both)', useCount: 10 });
    t.is(typeof found.body.results[0].syncedAt, 'string');
    const ids = async (query: string) =>
      (await keyed(hub, 'GET', `${SEARCH}?${query}`)).body.results.map(
        ({ geneId }: { geneId: string }) => geneId,
      );
    t.deepEqual(await ids('min_confidence=0.85'), ['both'], 'also where nodes do not look');
    t.deepEqual(await ids('task_class=letters'), ['only-a']);
    t.deepEqual(await ids('limit=1'), ['both']);
    t.is((await keyed(hub, 'GET', `${SEARCH}?min_confidence=2`)).status, 400);
  },
);

test('a node is asked what was asked, and the hub signs that with a key that it publishes', async (t) => {
  const hub = await startHub(t);
  const asked: IncomingMessage[] = [];
  const url = await listen(t, (request, response) => {
    asked.push(request);
    response.writeHead(200, json).end('{"genes":[]}');
  });
  await register(hub, makeNode('node-a'), `${url}/base/`);
  await keyed(hub, 'GET', `${SEARCH}?q=two%20words&task_class=sums&min_confidence=0.5`);
  const [{ url: target = '', headers }] = asked as [IncomingMessage];
  const { pathname, searchParams } = new URL(target, url);
  t.is(pathname, '/base/api/v1/genes');
  t.is(searchParams.get('q'), 'two words');
  t.is(searchParams.get('task_class'), 'sums');
  t.is(searchParams.get('min_confidence'), '0.5');
  t.is(headers.authorization, undefined);

  const { keys } = (await keyed(hub, 'GET', '/api/v1/keys')).body;
  const signer = headers['x-svc-node-id'];
  const raw = keys.find(({ key_id }: { key_id: string }) => key_id === signer).public_key;
  const x = Buffer.from(raw, 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const text = [headers['x-svc-timestamp'], 'GET', target, createHash('sha256').digest('hex'), signer].join(
    '\n',
  );
  t.true(verify(null, Buffer.from(text), key, Buffer.from(String(headers['x-svc-signature']), 'base64')));
});

test('slow, dead, lying, huge and redirecting nodes cost only themselves', async (t) => {
  const hub = await startHub(t);
  let elsewhere = 0;
  const good = await genesAt(t, () => [gene('good')]);
  const secret = await listen(t, (_request, response) => {
    elsewhere += 1;
    response.writeHead(200, json).end(JSON.stringify({ genes: [gene('stolen')] }));
  });
  const dead = await listen(t, (request) => request.socket.destroy());
  const slow = await listen(t, () => {});
  const dripping = await listen(t, (_request, response) => {
    response.writeHead(200, json).write('{"genes":[');
  });
  const wrong = await listen(t, (_request, response) => {
    response.writeHead(200, json).end('{"genes": "none"}');
  });
  const broken = await listen(t, (_request, response) => {
    response.writeHead(200, json).end('<html>');
  });
  const failing = await listen(t, (_request, response) => {
    response.writeHead(500, json).end('{}');
  });
  const huge = await listen(t, (_request, response) => {
    response.writeHead(200, json).end(`{"genes":[],"more":"${'x'.repeat(1_048_576)}"}`);
  });
  const redirecting = await listen(t, (_request, response) => {
    response.writeHead(302, { location: `${secret}/api/v1/genes` }).end();
  });
  const many = await genesAt(t, () =>
    Array.from({ length: 1_500 }, (_, n) => ({ geneId: `m${n}`, confidence: 0.1 })),
  );
  const bad = { dead, slow, dripping, wrong, broken, failing, huge, redirecting };
  for (const [id, url] of Object.entries({ good, many, ...bad })) await register(hub, makeNode(id), url);
  const { status, body } = await keyed(hub, 'GET', SEARCH);
  t.is(status, 200);
  t.like(body, { nodes_queried: 10, nodes_healthy: 2 });
  t.is(body.results[0].geneId, 'good');
  t.is(body.results.length, 1_000, 'a node tells 1,000 genes, and an answer has as many');
  t.is(elsewhere, 0, 'nobody goes where a node points to');

  for (let n = 0; n < 4; n += 1) await keyed(hub, 'GET', `${SEARCH}?q=${n}`);
  const later = await keyed(hub, 'GET', SEARCH);
  t.like(
    later.body,
    { nodes_queried: 2, nodes_healthy: 2 },
    'after five failures in a row they are left alone',
  );
});

test('what a node has revoked is not found any more, whoever still tells of it', async (t) => {
  const hub = await startHub(t);
  const [one, other] = [makeNode('node-a'), makeNode('node-b')];
  const copies = () => [gene('g1'), gene('g2'), gene('mine')];
  await register(hub, one, await genesAt(t, copies));
  await register(hub, other, await genesAt(t, copies));
  const report = (node: typeof one, type: string, id: string) =>
    signed(hub, node, 'POST', '/api/v1/events', { type, gene: gene(id) });
  const found = async () =>
    (await keyed(hub, 'GET', SEARCH)).body.results.map(({ geneId }: { geneId: string }) => geneId).sort();
  await report(one, 'gene_promoted', 'g1');
  await report(one, 'gene_revoked', 'g1');
  t.deepEqual(await found(), ['g2', 'mine']);
  // It never said that this is its own: the other's word about it stays.
  await report(one, 'gene_revoked', 'mine');
  t.deepEqual(await found(), ['g2', 'mine']);
});

test('after a clock that was ahead what is revoked is not found, and a node that failed is asked again', async (t) => {
  const steady = manualClock();
  let ahead = 9 * 3_600_000;
  const hub = await startHub(t, {}, { clock: { ...steady, now: () => steady.now() + ahead } });
  const node = makeNode('node-a');
  await register(hub, node, await genesAt(t, () => [gene('before'), gene('after'), gene('kept')]));
  let isDead = true;
  const failing = await listen(t, (request, response) => {
    if (isDead) request.socket.destroy();
    else response.writeHead(200, json).end(JSON.stringify({ genes: [gene('again')] }));
  });
  await register(hub, makeNode('node-b'), failing);
  const revoke = async (id: string) => {
    for (const type of ['gene_promoted', 'gene_revoked']) {
      const body = JSON.stringify({ type, gene: gene(id) });
      const timestamp = Math.floor((steady.now() + ahead) / 1000);
      const headers = envelope(node, 'POST', '/api/v1/events', body, { timestamp });
      t.true((await send(hub, 'POST', '/api/v1/events', headers, body)).status < 300);
    }
  };
  const search = async () => {
    const { results, nodes_queried } = (await keyed(hub, 'GET', SEARCH)).body;
    return [nodes_queried, ...results.map(({ geneId }: { geneId: string }) => geneId).sort()];
  };
  await revoke('before');
  for (let n = 0; n < 5; n += 1) t.deepEqual(await search(), [2, 'after', 'kept']);
  t.deepEqual(await search(), [1, 'after', 'kept']);

  ahead = 0;
  steady.advance(11_000);
  isDead = false;
  await revoke('after');
  t.deepEqual(await search(), [2, 'again', 'kept']);
});

test('answers that come all at once are read one at a time, in all searches, with others between them', async (t) => {
  let turn = 0;
  let counting = setImmediate(function count() {
    turn += 1;
    counting = setImmediate(count);
  });
  t.teardown(() => clearImmediate(counting));
  const readAt: number[] = [];
  const body = JSON.stringify({ genes: [gene('g')] });
  const nodes = Array.from({ length: 10 }, (_, n) => ({ id: `n${n}`, endpoint: 'http://node' }));
  const search = createFederation({
    nodes: { healthy: async () => nodes as never, findAll: async () => nodes as never },
    keys: { current: async () => ({}) as never },
    send: async () => ({ status: 200, body: Readable.from([Buffer.from(body)]) }) as never,
    tombstones: { refresh: async () => {}, cover: () => false },
    clock: manualClock(),
    ids: { bytes: (length) => Buffer.alloc(length) },
    log: { debug: () => {} },
    counted: () => readAt.push(turn),
  });
  const { signal } = new AbortController();
  const found = await Promise.all([search({}, 10, signal), search({}, 10, signal)]);
  t.deepEqual(
    found.map(({ healthy }) => healthy),
    [10, 10],
  );
  t.is(new Set(readAt).size, 20);
});

test('an owner of many nodes crowds no other owner’s out of a search, and each of its own has its turn', async (t) => {
  const many = Array.from({ length: 600 }, (_, n) => ({ id: `a${n}`, owner: 'a', endpoint: `http://a${n}` }));
  const nodes = [...many, { id: 'z', owner: 'z', endpoint: 'http://z' }];
  const calls: string[] = [];
  const search = createFederation({
    nodes: {
      healthy: async () => nodes,
      findAll: async (ids) => nodes.filter(({ id }) => ids.includes(id)) as never,
    },
    keys: { current: async () => ({}) as never },
    send: async ({ url }) => {
      calls.push(url.hostname);
      return { status: 200, body: Readable.from([Buffer.from('{"genes":[]}')]) } as never;
    },
    tombstones: { refresh: async () => {}, cover: () => false },
    clock: manualClock(),
    ids: { bytes: (length) => Buffer.alloc(length) },
    log: { debug: () => {} },
    counted: () => {},
  });
  for (let n = 0; n < 3; n += 1)
    t.like(await search({}, 10, new AbortController().signal), { queried: 256, healthy: 256 });
  t.is(calls.filter((host) => host === 'z').length, 3, 'it is asked each time');
  t.is(new Set(calls).size, nodes.length, 'in three searches all were asked');
});
