import test from 'ava';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { envelope, gene, makeNode, register, send, signed, startHub } from './hub-kit.ts';

const EVENTS = '/api/v1/events';
const HERE = 'http://127.0.0.1:4011';

eachGatewayDatabase(
  test,
  'an envelope counts once, under whatever nonce, and after a restart',
  async (t, fresh) => {
    const hub = await startHub(t, fresh.environment);
    const node = makeNode('node-a');
    await register(hub, node, HERE);
    const body = JSON.stringify({ type: 'gene_promoted', gene: gene('g1') });
    const headers = envelope(node, 'POST', EVENTS, body);
    t.is((await send(hub, 'POST', EVENTS, headers, body)).status, 202);
    const replayed = { status: 401, body: { code: 'hub.replayed' } };
    t.like(await send(hub, 'POST', EVENTS, headers, body), replayed);
    t.like(await send(hub, 'POST', EVENTS, { ...headers, 'x-svc-nonce': 'another' }, body), replayed);
    const again = JSON.stringify({ type: 'gene_promoted', gene: gene('g2') });
    const sameNonce = envelope(node, 'POST', EVENTS, again, { nonce: headers['x-svc-nonce']! });
    t.like(await send(hub, 'POST', EVENTS, sameNonce, again), replayed);
    await hub.stop();
    const later = await startHub(t, fresh.environment);
    t.like(await send(later, 'POST', EVENTS, headers, body), replayed, 'after a restart, too');
  },
);

test('whatever of an envelope is altered, it is refused by the code of what is wrong', async (t) => {
  const hub = await startHub(t);
  const node = makeNode('node-a');
  const other = makeNode('node-b');
  await register(hub, node, HERE);
  await register(hub, other, HERE);
  const body = JSON.stringify({ type: 'gene_promoted', gene: gene('g1') });
  const now = Math.floor(Date.now() / 1000);
  const good = () => envelope(node, 'POST', EVENTS, body);
  const flipped = (text: string) => {
    const bytes = Buffer.from(text, 'base64');
    bytes[0]! ^= 1;
    return bytes.toString('base64');
  };
  const without = (name: string) => {
    const { [name]: _, ...others } = good();
    return others;
  };
  const cases: readonly [string, string, Record<string, string>, string?, string?][] = [
    ['the body', 'hub.signature-invalid', good(), `${body} `],
    ['the path', 'hub.signature-invalid', good(), body, `${EVENTS}?a=1`],
    ['the method', 'hub.signature-invalid', envelope(node, 'PUT', EVENTS, body)],
    [
      'the signature',
      'hub.signature-invalid',
      { ...good(), 'x-svc-signature': flipped(good()['x-svc-signature']!) },
    ],
    ['no signature at all', 'hub.signature-invalid', { ...good(), 'x-svc-signature': 'AAAA' }],
    ['the time', 'hub.signature-invalid', { ...good(), 'x-svc-timestamp': String(now - 1) }],
    ['the node', 'hub.signature-invalid', { ...good(), 'x-svc-node-id': 'node-b' }],
    ['a foreign key', 'hub.signature-invalid', envelope(other, 'POST', EVENTS, body, { signer: 'node-a' })],
    ['nobody’s key', 'hub.signer-unknown', envelope(makeNode('node-c'), 'POST', EVENTS, body)],
    ['a clock behind', 'hub.clock-skewed', envelope(node, 'POST', EVENTS, body, { timestamp: now - 302 })],
    ['a clock ahead', 'hub.clock-skewed', envelope(node, 'POST', EVENTS, body, { timestamp: now + 310 })],
    ['no nonce', 'hub.envelope-incomplete', without('x-svc-nonce')],
    ['no timestamp', 'hub.envelope-incomplete', without('x-svc-timestamp')],
    ['no node', 'hub.envelope-incomplete', without('x-svc-node-id')],
    ['a timestamp that is none', 'hub.envelope-incomplete', { ...good(), 'x-svc-timestamp': '1e9' }],
  ];
  for (const [what, code, headers, sent = body, target = EVENTS] of cases)
    t.like(await send(hub, 'POST', target, headers, sent), { status: 401, body: { code } }, what);
  t.is((await send(hub, 'POST', EVENTS, {}, body)).status, 401, 'no envelope');
  const broken = '{"type": ';
  t.is(
    (await send(hub, 'POST', EVENTS, good(), broken)).body.code,
    'hub.signature-invalid',
    'before it is parsed',
  );
  t.is((await send(hub, 'POST', EVENTS, envelope(node, 'POST', EVENTS, broken), broken)).status, 400);
  for (const timestamp of [now - 290, now + 290]) {
    const said = JSON.stringify({ type: 'gene_promoted', gene: gene(`g${timestamp}`) });
    t.is(
      (await send(hub, 'POST', EVENTS, envelope(node, 'POST', EVENTS, said, { timestamp }), said)).status,
      202,
    );
  }
  const operator = { authorization: `Bearer ${hub.token}` };
  t.is(
    (await send(hub, 'POST', EVENTS, operator, body)).status,
    401,
    'no other credential speaks for a node',
  );
  t.is(
    (await send(hub, 'POST', EVENTS, { ...operator, ...good() }, body)).status,
    202,
    'nor hinders its envelope',
  );
});

test('a node reports its own genes, and what was revoked does not return', async (t) => {
  const hub = await startHub(t);
  const node = makeNode('node-a');
  await register(hub, node, HERE);
  const report = (type: string, more: object) =>
    signed(hub, node, 'POST', EVENTS, { type, gene: gene('g1', more) });
  const foreign = await report('gene_promoted', { contributorId: 'node-b' });
  t.like(foreign, { status: 403, body: { code: 'hub.foreign-contributor' } });
  for (const contributorId of ['node-a', 'anonymous', undefined])
    t.is((await report('gene_promoted', { contributorId, useCount: (Math.random() * 1e9) | 0 })).status, 202);
  t.is((await report('gene_promoted', { confidence: 7 })).status, 400);
  t.is((await report('gene_cloned', {})).status, 400);
  t.is((await report('gene_promoted', { name: 'x', signals: { a: 'y'.repeat(20_000) } })).status, 400);
  t.is((await report('gene_revoked', {})).status, 202);
  t.like(await report('gene_promoted', {}), { status: 409, body: { code: 'hub.gene-revoked' } });
});
