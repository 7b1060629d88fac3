import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { systemClock } from '../../../foundation/base/clock.ts';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import { openHubDatabase } from '../../../plugins/hub/services/open-database.ts';
import { createDeliveryStore } from '../../../plugins/hub/store/deliveries.ts';
import { DeliveryTable, EventTable } from '../../../plugins/hub/store/tables.ts';
import { eachGatewayDatabase, gatewayDatabase, SERVER_FAMILIES } from '../../support/databases.ts';
import { until } from '../../support/until.ts';
import { BOTH, SUBSCRIPTIONS, withNode } from './delivery-kit.ts';
import {
  type Delivered,
  gene,
  KEY,
  keyed,
  makeNode,
  OTHER_KEY,
  register,
  send,
  signed,
  startHub,
  subscriber,
} from './hub-kit.ts';

/** Of 5 events each, with 10 s for an attempt. */
const HANGING = 60;
/** More than the 256 that are served at one time. */
const CROWD = 300;
/** Whether a delivery is signed by the hub, as a subscriber finds out: by the README alone. */
async function isSigned(hub: { url: string }, { headers, text, target }: Delivered): Promise<boolean> {
  const { createHash, createPublicKey, verify } = await import('node:crypto');
  const { keys } = (await send(hub, 'GET', '/api/v1/keys')).body;
  const signer = headers['x-svc-node-id'];
  const found = keys.find(({ key_id }: { key_id: string }) => key_id === signer);
  const x = Buffer.from(found.public_key, 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const digest = createHash('sha256').update(text).digest('hex');
  const signedText = [headers['x-svc-timestamp'], 'POST', target, digest, signer].join('\n');
  return verify(
    null,
    Buffer.from(signedText),
    key,
    Buffer.from(String(headers['x-svc-signature']), 'base64'),
  );
}

eachGatewayDatabase(test, 'subscribers get what they asked for, signed by the hub', async (t, fresh) => {
  const { hub, report, subscribe } = await withNode(t, fresh.environment);
  const [all, trusted, revocations] = [await subscriber(t), await subscriber(t), await subscriber(t)];
  const made = await subscribe(`${all.url}/hook?a=1`);
  await subscribe(trusted.url, { filter: { min_confidence: 0.8 } });
  await subscribe(revocations.url, { events: ['gene_revoked'] });
  t.regex(made.signing_key_id, /^hub-[0-9a-f]{16}$/);
  t.deepEqual(
    (await report('gene_promoted', 'weak', { confidence: 0.5 })).body.deliveries,
    2,
    'and this gateway',
  );
  await report('gene_promoted', 'g1', { confidence: 0.8 });
  await report('gene_promoted', 'g1', { confidence: 0.6 });
  // By what it was trusted when it was promoted: who heard of it hears that it is gone, however often it was promoted
  // or revoked since.
  for (const confidence of [0.2, 0.1]) await report('gene_revoked', 'g1', { confidence });
  await until(() => all.got.length === 5 && trusted.got.length === 3 && revocations.got.length === 2);
  t.deepEqual(trusted.got.map(({ body }) => [body.type, body.gene.geneId]).sort(), [
    ['gene_promoted', 'g1'],
    ['gene_revoked', 'g1'],
    ['gene_revoked', 'g1'],
  ]);
  const [{ target, headers, body }] = all.got as [Delivered];
  t.is(target, '/hook?a=1');
  t.is(headers['x-svc-node-id'], made.signing_key_id);
  t.like(body, { node_id: 'node-a', subscription_id: made.id, attempt: 1 });
  t.is(body.gene.contributorId, 'node-a');
  for (const delivered of all.got) t.true(await isSigned(hub, delivered));
  await until(
    async () => (await keyed(hub, 'GET', `${SUBSCRIPTIONS}/${made.id}`)).body.delivery.delivered === 5,
  );
});

eachGatewayDatabase(
  test,
  'a subscriber that fails is tried six times, each time signed anew, and then the event is a dead letter',
  async (t, fresh) => {
    const { hub, report, subscribe } = await withNode(t, fresh.environment);
    let status = 500;
    const failing = await subscriber(t, () => status);
    const { id } = await subscribe(failing.url);
    await report('gene_promoted', 'g1');
    const letters = async () => (await keyed(hub, 'GET', `${SUBSCRIPTIONS}/${id}/dead-letters`)).body;
    await until(async () => (await letters()).total === 1, 30_000);
    t.is(failing.got.length, 6);
    const all = (of: (one: Delivered) => unknown) => new Set(failing.got.map(of)).size;
    t.is(
      all(({ body }) => body.id),
      1,
      'the id stays',
    );
    t.is(
      all(({ headers }) => headers['x-svc-nonce']),
      6,
    );
    t.is(
      all(({ headers }) => headers['x-svc-signature']),
      6,
    );
    t.deepEqual(
      failing.got.map(({ body }) => body.attempt),
      [1, 2, 3, 4, 5, 6],
    );
    const [letter] = (await letters()).dead_letters;
    t.like(letter, { attempts: 6, reason: 'The subscriber answered 500.', type: 'gene_promoted' });
    t.is(letter.gene.geneId, 'g1');
    t.like((await keyed(hub, 'GET', `${SUBSCRIPTIONS}/${id}`)).body.delivery, { dead: 1, waiting: 0 });

    const retry = `${SUBSCRIPTIONS}/${id}/dead-letters/${letter.id}/retry`;
    t.is(
      (await keyed(hub, 'POST', retry, undefined, OTHER_KEY)).status,
      404,
      'another owner has no such thing',
    );
    status = 204;
    t.deepEqual((await keyed(hub, 'POST', retry)).body, { retried: 1 });
    await until(() => failing.got.length === 7);
    t.is(failing.got[6]!.body.id, letter.id);
    await until(async () => (await letters()).total === 0);
    t.like(await keyed(hub, 'POST', retry), { status: 404, body: { code: 'hub.dead-letter-not-found' } });
  },
);

eachGatewayDatabase(
  test,
  'an event is a dead letter at once for a subscriber for which too many wait',
  async (t, fresh) => {
    const { hub, report, subscribe } = await withNode(t, fresh.environment);
    const [behind, prompt] = [await subscriber(t), await subscriber(t)];
    const [{ id }, other] = [await subscribe(behind.url), await subscribe(prompt.url)];
    const { database, close } = await openHubDatabase(hub.gateway.services, 'hub.db');
    t.teardown(close);
    const now = new Date();
    const row = (n: number) => ({
      id: `${n}`,
      eventId: 'e',
      subscriptionId: id,
      state: 'waiting' as const,
      attempts: 1,
      dueAt: new Date(now.getTime() + 3_600_000),
      claimedUntil: now,
      ticket: '',
      reason: null,
      createdAt: now,
    });
    for (let from = 0; from < 10_000; from += 1_000)
      await database.system().insertMany(
        DeliveryTable,
        Array.from({ length: 1_000 }, (_, n) => row(from + n)),
      );
    await report('gene_promoted', 'g1');
    await until(() => prompt.got.length === 1);
    const { dead_letters: letters } = (await keyed(hub, 'GET', `${SUBSCRIPTIONS}/${id}/dead-letters`)).body;
    t.deepEqual(
      letters.map(({ reason }: { reason: string }) => reason),
      ['So many deliveries waited that no more were taken.'],
    );
    t.is(behind.got.length, 0);
    const store = createDeliveryStore(database);
    t.deepEqual(await store.full([id, other.id], 10_000), new Set([id]));
    t.deepEqual(await store.full([other.id], 2), new Set(), 'no others are counted');
    t.deepEqual([await store.waitAtLeast(10_000), await store.waitAtLeast(10_100)], [true, false]);
  },
);

eachGatewayDatabase(
  test,
  'an event is kept for as long as a delivery waits, and a dead letter for a month after it became one',
  async (t, fresh) => {
    const slow = { HUB_DELIVERY_BACKOFF: '1h,1h,1h,1h,1h' };
    const { hub, report, subscribe } = await withNode(t, { ...fresh.environment, ...slow });
    const away = await subscriber(t, () => 500);
    const { id } = await subscribe(away.url);
    await report('gene_promoted', 'g1');
    const { database, close } = await openHubDatabase(hub.gateway.services, 'hub.db');
    t.teardown(close);
    const em = () => database.system();
    const ofIts = { subscriptionId: id, attempts: 1 };
    await until(async () => (await em().count(DeliveryTable, ofIts)) === 1);

    // As if the hub had been off since.
    const now = Date.now();
    const ago = (days: number) => new Date(now - days * 86_400_000);
    const expire = () => createDeliveryStore(database).expire(ago(30), ago(45), new AbortController().signal);
    await em().nativeUpdate(EventTable, {}, { createdAt: ago(50) });
    const [event] = await em().find(EventTable, {});
    await em().insert(EventTable, { ...event!, id: 'delivered', createdAt: ago(51) });
    await em().nativeUpdate(DeliveryTable, ofIts, { createdAt: ago(50) });
    await expire();
    t.is(await em().count(EventTable, {}), 1, 'the one to which no delivery refers is gone');
    await em().nativeUpdate(DeliveryTable, ofIts, { attempts: 5, dueAt: ago(50) });
    const letters = async () => (await keyed(hub, 'GET', `${SUBSCRIPTIONS}/${id}/dead-letters`)).body;
    await until(async () => (await letters()).total === 1, 30_000);
    await expire();
    t.is((await letters()).dead_letters[0]?.gene?.geneId, 'g1');

    await em().nativeUpdate(DeliveryTable, { subscriptionId: id }, { dueAt: ago(31) });
    await expire();
    t.is((await letters()).total, 0);
  },
);

test('a subscriber that answers with a long page is known by its status', async (t) => {
  const { hub, report, subscribe } = await withNode(t);
  const { url, got } = await subscriber(t, () => 200, '<p>'.repeat(40_000));
  await subscribe(url);
  await report('gene_promoted', 'g1');
  const delivery = async () => (await keyed(hub, 'GET', SUBSCRIPTIONS)).body.subscriptions[0].delivery;
  await until(async () => (await delivery()).last_attempt_at !== null);
  t.like(await delivery(), { delivered: 1, failed_attempts: 0, last_error: null });
  t.is(got.length, 1);
});

test('one that hangs delays nobody, and an operator sends dead letters of all owners again', async (t) => {
  const { hub, report, subscribe } = await withNode(t, { HUB_DELIVERY_BACKOFF: '1s,1s,1s,1s,1s' });
  const { promise: forever, resolve } = Promise.withResolvers<number>();
  t.teardown(() => resolve(204));
  const hanging = await subscriber(t, () => forever);
  const prompt = await subscriber(t);
  for (let n = 0; n < HANGING; n += 1) await subscribe(`${hanging.url}/${n}`, {}, OTHER_KEY);
  await subscribe(prompt.url);
  for (let n = 0; n < 5; n += 1) await report('gene_promoted', `g${n}`);
  // Those that hang take 10 s for each attempt: one after the other, or in the way of others, they would keep this from
  // being for minutes.
  await until(() => prompt.got.length === 5, 60_000);
  t.is(
    (await send(hub, 'GET', SUBSCRIPTIONS, { authorization: `Bearer ${hub.token}` })).body.total,
    HANGING + 1,
  );
});

test('a crowd that hangs, and is not known to, delays nobody until its attempts fail', async (t) => {
  const { hub, report, subscribe } = await withNode(t);
  const { promise: forever, resolve } = Promise.withResolvers<number>();
  t.teardown(() => resolve(204));
  const hanging = await subscriber(t, () => forever);
  const prompt = await subscriber(t);
  for (let n = 0; n < CROWD; n += 1) await subscribe(`${hanging.url}/${n}`, {}, OTHER_KEY);
  await subscribe(prompt.url);
  await report('gene_promoted', 'g1');
  await until(() => prompt.got.length === 1);
  const { body } = await hub.request('/api/v1/subscriptions?limit=500', { token: OTHER_KEY });
  t.is(body.total, CROWD);
  // Attempts that hang fail after 10 s: none has.
  for (const { delivery } of body.subscriptions) t.is(delivery.failed_attempts, 0);
  t.is(prompt.got[0]!.body.gene.geneId, 'g1');
});

test('an anonymous gene names its node to nobody', async (t) => {
  const { hub, report, subscribe } = await withNode(t);
  let status = 500;
  const failing = await subscriber(t, () => status);
  const { id } = await subscribe(failing.url);
  await report('gene_promoted', 'g1', { contributorId: 'anonymous' });
  const letters = async () => (await keyed(hub, 'GET', `${SUBSCRIPTIONS}/${id}/dead-letters`)).body;
  await until(async () => (await letters()).total === 1, 30_000);
  status = 204;
  await report('gene_revoked', 'g1', { contributorId: 'anonymous' });
  await until(() => failing.got.length === 7);
  for (const { body, text } of failing.got) {
    t.like(body, { node_id: null, gene: { geneId: 'g1', contributorId: 'anonymous' } });
    t.false(text.includes('node-a'));
  }
  t.is((await letters()).dead_letters[0].node_id, null);
  const { body } = await fetch(`${hub.url}/api/v1/dashboard/stream`, {
    headers: { authorization: `Bearer ${KEY}` },
  });
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  let state = '';
  while (!state.includes('\n\n')) state += (await reader.read()).value ?? '';
  await reader.cancel();
  const [shown] = JSON.parse(/^data: (.*)$/m.exec(state)![1]!).genes.items;
  t.like(shown, { gene_id: 'g1', node_id: null });
});

eachGatewayDatabase(
  test,
  'what a node promoted is not held any more once the node is deleted',
  async (t, fresh) => {
    const { hub, report, subscribe } = await withNode(t, fresh.environment);
    const subscribed = await subscriber(t);
    await subscribe(subscribed.url, { events: ['gene_revoked'] });
    const other = makeNode('node-b');
    await register(hub, other, 'http://127.0.0.1:4011');
    const reported = (type: string, geneId: string, event_id?: string) =>
      signed(hub, other, 'POST', '/api/v1/events', { type, gene: gene(geneId), event_id });
    for (const id of ['g1', 'g2']) {
      await report('gene_promoted', id);
      await reported('gene_promoted', `of-b-${id}`);
    }
    await reported('gene_revoked', 'of-b-g1');
    await reported('gene_promoted', 'kept-revoked');
    await reported('gene_revoked', 'kept-revoked');
    t.is((await signed(hub, other, 'DELETE', '/api/v1/nodes/node-b')).status, 204);
    await report('gene_revoked', 'g2');
    await until(() => subscribed.got.length === 3);
    const held = subscribed.got.map(({ body }) => [body.gene.geneId, body.still_promoted]);
    t.deepEqual(Object.fromEntries(held), { 'of-b-g1': ['prefer'], 'kept-revoked': ['prefer'], g2: [] });

    t.is((await register(hub, other, 'http://127.0.0.1:4011')).status, 201);
    t.like(await reported('gene_promoted', 'of-b-g2', 'again'), { status: 202 });
    t.like(await reported('gene_promoted', 'kept-revoked', 'again'), { status: 409 }, 'it stays revoked');
  },
);

test('a promotion that failed is not sent again after the revocation of its gene', async (t) => {
  const { hub, report, subscribe } = await withNode(t, { HUB_DELIVERY_BACKOFF: '1s,1s,1s,1s,1s' });
  const choosy = await subscriber(t, ({ body }) => (body.type === 'gene_promoted' ? 500 : 204));
  const { id } = await subscribe(choosy.url);
  await report('gene_promoted', 'g1');
  await until(() => choosy.got.length === 1);
  await report('gene_revoked', 'g1');
  const queue = async () => (await keyed(hub, 'GET', `${SUBSCRIPTIONS}/${id}`)).body.delivery;
  await until(async () => (await queue()).waiting === 0, 30_000);
  t.like(await queue(), { dead: 0, delivered: 1 }, 'what was not sent is not counted as delivered');
  t.is(
    choosy.got.findIndex(({ body }) => body.type === 'gene_revoked'),
    choosy.got.length - 1,
  );
});

test('what was accepted is delivered after a restart', async (t) => {
  const { mkdtemp, rm } = await import('node:fs/promises');
  const folder = await mkdtemp(`${(await import('node:os')).tmpdir()}/hub-`);
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const env = { SVC_DATA_DIR: folder, HUB_DELIVERY_BACKOFF: '1s,1s,1s,1s,1s' };
  const { hub, report, subscribe } = await withNode(t, env);
  let status = 503;
  const back = await subscriber(t, () => status);
  await subscribe(back.url);
  await report('gene_promoted', 'g1');
  await until(() => back.got.length >= 1);
  await hub.stop();
  status = 204;
  const before = back.got.length;
  await startHub(t, env);
  await until(() => back.got.length > before, 30_000);
  t.is(new Set(back.got.map(({ body }) => body.id)).size, 1);
});

test('an operator who may only read changes no subscription of another owner', async (t) => {
  const { hub, subscribe } = await withNode(t);
  const { id } = await subscribe('http://127.0.0.1:4012/');
  const path = `${SUBSCRIPTIONS}/${id}`;
  const auditor = { tenantId: DEFAULT_TENANT_ID, roles: ['auditor'], expiresAt: null, createdBy: null };
  const withScopes = async (scopes: string[]) => {
    const { key } = await hub.gateway.services.apiKeys.create({ ...auditor, name: 'ops', scopes });
    return { authorization: `Bearer ${key}` };
  };
  const reader = await withScopes(['read', 'write', 'ops:read']);
  t.is((await send(hub, 'GET', path, reader)).status, 200);
  for (const [method, target] of [
    ['DELETE', path],
    ['POST', `${path}/dead-letters/retry`],
    ['POST', `${SUBSCRIPTIONS}/own/dead-letters/retry`],
  ] as const)
    t.like(await send(hub, method, target, reader), { status: 403, body: { code: 'hub.key-required' } });
  const writer = await withScopes(['read', 'write', 'ops:write']);
  t.is((await send(hub, 'DELETE', path, writer)).status, 204);
});

test('subscriptions belong to who made them', async (t) => {
  const { hub, subscribe } = await withNode(t);
  const { id } = await subscribe('http://127.0.0.1:4012/');
  const path = `${SUBSCRIPTIONS}/${id}`;
  for (const method of ['GET', 'DELETE'])
    t.is((await keyed(hub, method, path, undefined, OTHER_KEY)).status, 404);
  t.is((await keyed(hub, 'GET', SUBSCRIPTIONS, undefined, OTHER_KEY)).body.total, 0);
  t.is((await keyed(hub, 'GET', path)).body.callback_url, 'http://127.0.0.1:4012/');
  t.is((await keyed(hub, 'DELETE', path)).status, 204);
  t.is((await keyed(hub, 'GET', path)).status, 404);
  for (const [body, pointer] of [
    [{ callback_url: 'nowhere', events: BOTH }, '/body/callback_url'],
    [{ callback_url: 'http://127.0.0.1:4012', events: [] }, '/body/events'],
    [
      { callback_url: 'http://127.0.0.1:4012', events: BOTH, filter: { min_confidence: 2 } },
      '/body/filter/min_confidence',
    ],
  ] as const) {
    const refused = await keyed(hub, 'POST', SUBSCRIPTIONS, body);
    t.is(refused.status, 400);
    t.true(
      refused.body.errors.some((error: { pointer: string }) => error.pointer.startsWith(pointer)),
      pointer,
    );
  }
  const bad = { callback_url: 'ftp://nowhere', events: ['gene_cloned'], filter: { min_confidence: 2 } };
  const all = await keyed(hub, 'POST', SUBSCRIPTIONS, bad);
  t.deepEqual(all.body.errors.map((error: { pointer: string }) => error.pointer).toSorted(), [
    '/body/callback_url',
    '/body/events/0',
    '/body/filter/min_confidence',
  ]);
  const inner = { callback_url: 'http://169.254.169.254/', events: BOTH };
  t.like(await keyed(hub, 'POST', SUBSCRIPTIONS, inner), { status: 403, body: { code: 'egress.denied' } });
});

eachGatewayDatabase(
  test,
  'after a rotation the key before stays for who knows it, until its time is over',
  async (t, fresh) => {
    const { hub, report, subscribe } = await withNode(t, fresh.environment);
    const [before, after] = [await subscriber(t), await subscriber(t)];
    const old = await subscribe(before.url);
    const operator = { authorization: `Bearer ${hub.token}` };
    const rotate = (headers: Record<string, string>) => send(hub, 'POST', '/api/v1/keys/rotate', headers);
    t.is((await rotate({ authorization: `Bearer ${KEY}` })).status, 403);
    const rotated = await rotate(operator);
    t.is(rotated.status, 201);
    const [current, retiring] = (await send(hub, 'GET', '/api/v1/keys')).body.keys;
    t.is(retiring.key_id, old.signing_key_id);
    t.not(retiring.retires_at, null);
    t.is(current.retires_at, null);
    const made = await subscribe(after.url);
    t.is(made.signing_key_id, current.key_id);
    await report('gene_promoted', 'g1');
    await until(() => before.got.length === 1 && after.got.length === 1);
    t.is(before.got[0]!.headers['x-svc-node-id'], retiring.key_id);
    t.is(after.got[0]!.headers['x-svc-node-id'], current.key_id);
    for (const { got } of [before, after]) t.true(await isSigned(hub, got[0]!));
  },
);

eachGatewayDatabase(
  test,
  'a hub whose secret key was lost publishes its keys, and goes on with one that a rotation makes',
  async (t, fresh) => {
    const {
      hub: before,
      node,
      subscribe,
    } = await withNode(t, {
      ...fresh.environment,
      SVC_SECRET_KEY: 'a'.repeat(32),
    });
    const known = await subscriber(t);
    await subscribe(known.url);
    const published = async (hub: typeof before) => (await send(hub, 'GET', '/api/v1/keys')).body.keys;
    const [lost] = await published(before);
    await before.stop();
    const hub = await startHub(t, { ...fresh.environment, SVC_SECRET_KEY: 'b'.repeat(32) });
    t.deepEqual(await published(hub), [lost]);
    const wanted = { callback_url: 'http://127.0.0.1:4011', events: BOTH };
    const refused = await keyed(hub, 'POST', SUBSCRIPTIONS, wanted);
    t.like(refused, { status: 503, body: { code: 'secret.sealed' } });
    t.regex(refused.body.detail, /SVC_SECRET_KEY/);
    await signed(hub, node, 'POST', '/api/v1/events', { type: 'gene_promoted', gene: gene('g1') });
    const said = () => hub.logs().filter((line) => line.includes('a delivery could not be attempted'));
    await until(() => said().length > 0);
    // It looks every second for what is due.
    await pause(2_500);
    t.is(said().length, 1, 'what waits does not fill the log');
    const rotated = await send(hub, 'POST', '/api/v1/keys/rotate', { authorization: `Bearer ${hub.token}` });
    t.is(rotated.status, 201, JSON.stringify(rotated.body));
    const made = await keyed(hub, 'POST', SUBSCRIPTIONS, wanted);
    t.is(made.body.signing_key_id, rotated.body.keys[0].key_id);
    await until(() => known.got.length === 1);
    t.is(known.got[0]!.headers['x-svc-node-id'], rotated.body.keys[0].key_id);
    t.true(await isSigned(hub, known.got[0]!));
  },
);

eachGatewayDatabase(test, 'keys outlive an exchange of the key that encrypts them', async (t, fresh) => {
  const start = (key: string, more = {}) =>
    startHub(t, { ...fresh.environment, SVC_SECRET_KEY: key.repeat(32), ...more });
  const before = await start('a');
  const { keys } = (await send(before, 'GET', '/api/v1/keys')).body;
  await before.stop();
  const between = await start('b', { SVC_SECRET_KEY_PREVIOUS: 'a'.repeat(32) });
  await send(between, 'GET', '/api/v1/keys');
  await between.stop();
  const after = await start('b');
  const wanted = { callback_url: 'http://127.0.0.1:4011', events: BOTH };
  const made = await keyed(after, 'POST', SUBSCRIPTIONS, wanted);
  t.is(made.body.signing_key_id, keys[0].key_id, JSON.stringify(made.body));
});

for (const family of SERVER_FAMILIES)
  test(`${family}: replicas whose clocks differ take no delivery from each other`, async (t) => {
    const fresh = await gatewayDatabase(t, family);
    if (fresh === undefined) return;
    const { hub, report, subscribe } = await withNode(t, fresh.environment);
    // It looks every second for what another replica has left.
    const ahead = { ...systemClock, now: () => Date.now() + 600_000 };
    await startHub(t, fresh.environment, { clock: ahead });
    const slow = await subscriber(t, async () => {
      await pause(2_500);
      return 204;
    });
    const { id } = await subscribe(slow.url);
    await report('gene_promoted', 'g1');
    await until(async () => (await keyed(hub, 'GET', `${SUBSCRIPTIONS}/${id}`)).body.delivery.delivered > 0);
    t.is(slow.got.length, 1);
  });

for (const family of SERVER_FAMILIES)
  test(`${family}: a subscriber gets one event after the other, whichever replica took them`, async (t) => {
    const fresh = await gatewayDatabase(t, family);
    if (fresh === undefined) return;
    const { node, report, subscribe } = await withNode(t, fresh.environment);
    const other = await startHub(t, fresh.environment);
    const story: string[] = [];
    const slow = await subscriber(t, async ({ body }) => {
      story.push(`${body.type} begins`);
      await pause(body.type === 'gene_promoted' ? 2_500 : 0);
      story.push(`${body.type} ends`);
      return 204;
    });
    await subscribe(slow.url);
    await report('gene_promoted', 'g1');
    await until(() => story.length > 0);
    await signed(other, node, 'POST', '/api/v1/events', { type: 'gene_revoked', gene: gene('g1') });
    await until(() => story.length === 4);
    const inOrder = [
      'gene_promoted begins',
      'gene_promoted ends',
      'gene_revoked begins',
      'gene_revoked ends',
    ];
    t.deepEqual(story, inOrder);
  });
