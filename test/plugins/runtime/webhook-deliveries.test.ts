import type { ServerResponse } from 'node:http';
import test from 'ava';
import { DEFAULT_TENANT_ID as TENANT } from '../../../kernel/access/identity.ts';
import { DeliverWebhook } from '../../../plugins/runtime/services/webhooks/deliveries.ts';
import { createWebhookEvents } from '../../../plugins/runtime/services/webhooks/webhook-events.ts';
import { DeliveryTable, LogTable, logWrite } from '../../../plugins/runtime/store/webhooks.ts';
import type { TestGateway } from '../../../testing/index.ts';
import { eachGatewayDatabase, gatewayDatabase, SERVER_FAMILIES } from '../../support/databases.ts';
import { eraseFrom, exportedBy, readerPlugin } from '../../support/personal-data.ts';
import { settled, until } from '../../support/until.ts';
import { startRuntime } from './runtime-gateway.ts';
import { flowPlugin, LOCAL, logsOf, makeWebhook, runEvent, startReceiver, verify } from './webhook-kit.ts';

/** The port for other parts of the plugin, over the services of a gateway. */
const portOf = ({ gateway }: TestGateway) =>
  createWebhookEvents({
    ...gateway.services,
    guard: { redactJsonText: (text) => text },
    log: { warn: () => {} } as never,
    dropped: () => {},
  });

const idsOf = (received: readonly { headers: Record<string, unknown> }[]) =>
  received.map(({ headers }) => headers['webhook-id']);

eachGatewayDatabase(
  test,
  'an event is attempted five times, signed each time, under one id',
  async (t, fresh) => {
    const receiver = await startReceiver(t, (n) => [500, 302, 404, 503, 500][n - 1]);
    const flow = flowPlugin();
    const env = { ...LOCAL, ...fresh.environment };
    const gateway = await startRuntime(t, { env, plugins: [flow.plugin] });
    const { id, secret } = await makeWebhook(gateway, { url: `${receiver.url}/in?x=1` });
    await flow.deliver(runEvent(TENANT, 7, { node_id: 'n', data: { note: 'AKIAIOSFODNN7EXAMPLE' } }));
    await until(async () => (await logsOf(gateway, id)).length === 5);
    const { database } = gateway.gateway.services;
    await until(async () => (await database.forTenant(TENANT).count(DeliveryTable)) === 0);
    const { received } = receiver;
    t.deepEqual(new Set(idsOf(received)), new Set(['0197b2c4-0000-7000-8000-000000000001-7']));
    for (const one of received) t.notThrows(() => verify(secret, one));
    t.throws(() => verify(secret, { ...received[0]!, text: `${received[0]!.text} ` }));
    const { data, ...rest } = received[4]!.body;
    t.deepEqual(rest, { type: 'workflow.run.started', timestamp: '2026-01-02T03:04:05.678Z' });
    t.like(data, { run_id: '0197b2c4-0000-7000-8000-000000000001', definition_id: 'onboarding', seq: 7 });
    t.notRegex(JSON.stringify(data), /AKIA/);
    const logs = await logsOf(gateway, id);
    const shown = logs.map(({ attempt, status_code, error }) => [attempt, status_code, error]);
    t.deepEqual(
      shown.toReversed(),
      [500, 302, 404, 503, 500].map((status, index) => [
        index + 1,
        status,
        `The receiver answered ${status}.`,
      ]),
    );
  },
);

test('what the receiver asks for with Retry-After is waited for, and the second attempt is the last where it succeeds', async (t) => {
  const receiver = await startReceiver(t, (n, response) => {
    response.setHeader('retry-after', '1');
    return n === 1 ? 429 : 200;
  });
  const flow = flowPlugin();
  const gateway = await startRuntime(t, { env: LOCAL, plugins: [flow.plugin] });
  const { id } = await makeWebhook(gateway, { url: receiver.url });
  await flow.deliver(runEvent(TENANT, 1));
  await until(async () => (await logsOf(gateway, id)).length === 2);
  const [second, first] = await logsOf(gateway, id);
  t.true(Date.parse(second.delivered_at) - Date.parse(first.delivered_at) >= 1_000);
  t.deepEqual([second.status_code, second.error, second.attempt], [200, null, 2]);
  await settled(() => receiver.received.length);
  t.is(receiver.received.length, 2);
});

eachGatewayDatabase(
  test,
  'an event whose secret this replica cannot read waits for the right key, and no attempt is lost',
  async (t, fresh) => {
    const receiver = await startReceiver(t);
    const start = (key: string) =>
      startRuntime(t, { env: { ...LOCAL, ...fresh.environment, SVC_SECRET_KEY: key.repeat(32) } });
    const before = await start('a');
    const { id, secret } = await makeWebhook(before, { url: receiver.url });
    await before.stop();

    const mistaken = await start('b');
    await portOf(mistaken).emit(TENANT, { type: 'agent.created', data: {} });
    await until(async () =>
      /svc_webhook_attempts_total\{result="sealed"\} [1-9]/.test((await mistaken.request('/metrics')).body),
    );
    const told = mistaken.logs().filter((line) => line.includes('must be the same on all'));
    t.is(told.length, 1);
    t.like(JSON.parse(told[0]!), { level: 'error', plugin: 'runtime', tenant_id: TENANT, webhook_id: id });
    t.deepEqual(await logsOf(mistaken, id), []);
    const kept = await mistaken.gateway.services.database
      .forTenant(TENANT)
      .rows(DeliveryTable, {}, { limit: 2 });
    t.deepEqual(
      kept.map(({ attempt }) => attempt),
      [1],
    );
    await mistaken.stop();

    const after = await start('a');
    await until(() => receiver.received.length === 1);
    t.notThrows(() => verify(secret, receiver.received[0]!));
    await until(async () => (await logsOf(after, id)).length === 1);
    t.like((await logsOf(after, id))[0], { attempt: 1, status_code: 204 });
  },
);

test('a job that comes again after its attempt was noted sends nothing', async (t) => {
  const receiver = await startReceiver(t, () => 500);
  const gateway = await startRuntime(t, { env: { ...LOCAL, SVC_WEBHOOK_BACKOFF: '1h' } });
  const { id } = await makeWebhook(gateway, { url: receiver.url });
  await portOf(gateway).emit(TENANT, { type: 'agent.created', data: {} });
  await until(async () => (await logsOf(gateway, id)).length === 1);
  const { database, jobs } = gateway.gateway.services;
  const entities = database.forTenant(TENANT);
  const [delivery] = await entities.rows(DeliveryTable, {}, { limit: 1 });
  await jobs.publish(entities, DeliverWebhook, { delivery_id: delivery!.id, webhook_id: id, attempt: 1 });
  await until(
    async () =>
      (
        await gateway.gateway.services.database
          .system()
          .execute("select * from kernel_jobs where state <> 'scheduled'")
      ).length === 0,
  );
  t.is(receiver.received.length, 1);
  t.is(await entities.count(DeliveryTable), 1);
});

test('nothing is delivered for a deleted tenant, and what waits goes out when it is restored', async (t) => {
  const receiver = await startReceiver(t);
  const gateway = await startRuntime(t, { env: LOCAL });
  const { id: tenantId, token } = await gateway.makeTenant();
  const { id } = await makeWebhook(gateway, { url: receiver.url }, token);
  const { database, jobs, clock, tenants } = gateway.gateway.services;
  await tenants.scheduleDelete(tenantId, new Date(clock.now() + 86_400_000));
  await portOf(gateway).emit(tenantId, { type: 'agent.created', data: {} });
  const due = `select * from kernel_jobs where queue = 'runtime.webhook-delivery' and due_at > ${clock.now() + 3_000_000}`;
  await until(async () => (await database.system().execute(due)).length === 1);
  t.is(receiver.received.length, 0);

  await tenants.restore(tenantId);
  const entities = database.forTenant(tenantId);
  const [delivery] = await entities.rows(DeliveryTable, {}, { limit: 1 });
  await jobs.publish(entities, DeliverWebhook, { delivery_id: delivery!.id, webhook_id: id, attempt: 1 });
  await until(() => receiver.received.length === 1);
  t.pass();
});

test('a receiver that answers with a long page is known by its status', async (t) => {
  const page = '<p>'.repeat(40_000);
  const receiver = await startReceiver(t, (n, response) => {
    response.writeHead(n === 1 ? 503 : 200, { 'content-length': page.length, 'retry-after': '0' }).end(page);
    return undefined;
  });
  const gateway = await startRuntime(t, { env: LOCAL });
  const { id } = await makeWebhook(gateway, { url: receiver.url });
  const test = async () =>
    (await gateway.request(`/api/v2/admin/webhooks/${id}/test`, { method: 'POST' })).body;
  t.like(await test(), { success: false, log: { status_code: 503, error: 'The receiver answered 503.' } });
  t.like(await test(), { success: true, log: { status_code: 200, error: null } });
});

test('410 turns a webhook off', async (t) => {
  const receiver = await startReceiver(t, () => 410);
  const flow = flowPlugin();
  const gateway = await startRuntime(t, { env: LOCAL, plugins: [flow.plugin] });
  const { id } = await makeWebhook(gateway, { url: receiver.url });
  await flow.deliver(runEvent(TENANT, 1));
  const isActive = async () =>
    (await gateway.request(`/api/v2/admin/webhooks/${id}`)).body.webhook.active as boolean;
  await until(async () => !(await isActive()));
  await flow.deliver(runEvent(TENANT, 2));
  await settled(() => receiver.received.length);
  t.is(receiver.received.length, 1);
});

test('410 of an address that the webhook has no more does not turn it off, and the event goes to the new one', async (t) => {
  const held: ServerResponse[] = [];
  const old = await startReceiver(t, (_, response) => {
    held.push(response);
    return undefined;
  });
  const receiver = await startReceiver(t);
  const flow = flowPlugin();
  const gateway = await startRuntime(t, { env: LOCAL, plugins: [flow.plugin] });
  const { id } = await makeWebhook(gateway, { url: old.url });
  await flow.deliver(runEvent(TENANT, 1));
  await until(() => held.length === 1);
  const place = `/api/v2/admin/webhooks/${id}`;
  t.is((await gateway.request(place, { method: 'PUT', body: { url: receiver.url } })).status, 200);
  held[0]!.writeHead(410).end();
  await until(() => receiver.received.length === 1);
  t.true((await gateway.request(place)).body.webhook.active);
});

test('a webhook gets the types that it names, once each, and no others', async (t) => {
  const receiver = await startReceiver(t);
  const flow = flowPlugin();
  const gateway = await startRuntime(t, { env: LOCAL, plugins: [flow.plugin] });
  const other = await gateway.makeTenant();
  for (const [path, events, token] of [
    ['/step', ['workflow.step.*'], gateway.token],
    ['/run', ['workflow.run.completed', 'workflow.run.*'], gateway.token],
    ['/agent', ['agent.*'], gateway.token],
    ['/other', ['*'], other.token],
  ] as const) {
    await makeWebhook(gateway, { url: receiver.url + path, events }, token);
  }
  await flow.deliver(
    runEvent(TENANT, 1),
    runEvent(TENANT, 2, { type: 'step.completed' }),
    runEvent(TENANT, 3, { type: 'warning' }),
    runEvent(TENANT, 4, { type: 'run.completed' }),
  );
  await until(() => receiver.received.length >= 3);
  await settled(() => receiver.received.length);
  t.deepEqual(receiver.received.map(({ path, body }) => `${path} ${body.data.seq}`).sort(), [
    '/run 1',
    '/run 4',
    '/step 2',
  ]);
  t.true(flow.sink().wants(TENANT));
});

test('data above 64 KiB are cut to their short members', async (t) => {
  const receiver = await startReceiver(t);
  const gateway = await startRuntime(t, { env: LOCAL });
  await makeWebhook(gateway, { url: receiver.url });
  const data = { session_id: 's', text: 'x'.repeat(65_536), list: Array(60_000).fill(1) };
  await portOf(gateway).emit(TENANT, { type: 'agent.run.completed', data });
  await until(() => receiver.received.length === 1);
  t.deepEqual(receiver.received[0]!.body.data, { session_id: 's', truncated: true });
});

test('a receiver that hangs holds up neither other webhooks nor other tenants', async (t) => {
  let open = 0;
  let most = 0;
  let given = 0;
  const hanging = await startReceiver(t, (_, response) => {
    open += 1;
    most = Math.max(most, open);
    response.on('close', () => {
      open -= 1;
      given += 1;
    });
    return undefined;
  });
  const good = await startReceiver(t);
  const gateway = await startRuntime(t, { env: { ...LOCAL, SVC_DRAIN_TIMEOUT: '100ms' } });
  const other = await gateway.makeTenant();
  await makeWebhook(gateway, { url: hanging.url });
  const port = portOf(gateway);
  const events = Array.from({ length: 150 }, (_, n) => ({ type: 'agent.created' as const, data: { n } }));
  await port.emit(TENANT, ...events);
  await until(() => open > 0);
  await makeWebhook(gateway, { url: `${good.url}/mine` });
  await makeWebhook(gateway, { url: `${good.url}/other` }, other.token);
  port.forget();
  await port.emit(TENANT, ...events.slice(0, 20));
  await port.emit(other.id, ...events.slice(0, 20));
  await until(() => good.received.length === 40);
  t.true(most <= 3, `${most} at one time`);
  t.true(given < 50, 'the others did not wait until their turn came');
});

eachGatewayDatabase(
  test,
  'events are published with the commit of what they report, or not at all',
  async (t, fresh) => {
    const receiver = await startReceiver(t);
    const gateway = await startRuntime(t, { env: { ...LOCAL, ...fresh.environment } });
    const port = portOf(gateway);
    const entities = gateway.gateway.services.database.forTenant(TENANT);
    const event = (n: number) => ({ type: 'agent.run.failed' as const, data: { n }, userId: 'u' });
    t.deepEqual(await port.writes(TENANT, [event(0)]), [], 'no webhook, no write');
    t.false(port.mayHear(TENANT));
    await makeWebhook(gateway, { url: receiver.url });
    port.forget(TENANT);
    const undone = await port.writes(TENANT, [event(1)]);
    const done = await port.writes(TENANT, [event(2), event(3)]);
    await t.throwsAsync(
      entities.transaction(async (inside) => {
        await inside.writeTogether(undone);
        throw new Error('rolled back');
      }),
      { message: 'rolled back' },
    );
    t.true(await entities.writeTogether(done, { shareAs: 's' }));
    await until(() => receiver.received.length === 2);
    await until(async () => (await entities.count(DeliveryTable)) === 0);
    await settled(() => receiver.received.length);
    t.deepEqual(receiver.received.map(({ body }) => body.data.n).sort(), [2, 3]);
  },
);

for (const family of SERVER_FAMILIES) {
  test(`${family}: of two replicas one delivers each event, and both know of changes`, async (t) => {
    const fresh = await gatewayDatabase(t, family);
    if (fresh === undefined) return;
    const receiver = await startReceiver(t);
    const env = { ...LOCAL, ...fresh.environment };
    const flows = [flowPlugin(), flowPlugin()];
    const [one, two] = await Promise.all(
      flows.map(({ plugin }) => startRuntime(t, { env, plugins: [plugin] })),
    );
    await flows[1]!.deliver(runEvent(TENANT, 999));
    const { id } = await makeWebhook(one!, { url: receiver.url });
    await until(() => flows[1]!.sink().wants(TENANT));
    const seqs = Array.from({ length: 60 }, (_, index) => index + 1);
    // The other replica may have known for a second that there is none.
    await until(async () => {
      await flows[1]!.deliver(runEvent(TENANT, 1_000));
      return receiver.received.length > 0;
    });
    await Promise.all(seqs.map((seq) => flows[seq % 2]!.deliver(runEvent(TENANT, seq))));
    const mine = () => receiver.received.map(({ body }) => body.data.seq).filter((seq) => seq < 999);
    await until(() => mine().length >= 60);
    await settled(() => mine().length);
    t.deepEqual(
      mine().toSorted((a, b) => a - b),
      seqs,
    );
    await two!.request(`/api/v2/admin/webhooks/${id}`, { method: 'PUT', body: { active: false } });
    await until(async () => {
      const before = receiver.received.length;
      await flows[0]!.deliver(runEvent(TENANT, 1_001));
      await settled(() => receiver.received.length, 200);
      return receiver.received.length === before;
    });
    t.pass();
  });
}

test('an address that the gateway may no longer call is refused at each attempt, and recorded', async (t) => {
  const fresh = await gatewayDatabase(t, 'sqlite');
  const receiver = await startReceiver(t);
  const env = { ...LOCAL, ...fresh!.environment };
  const before = await startRuntime(t, { env });
  const { id } = await makeWebhook(before, { url: receiver.url });
  await before.stop();
  const { SVC_EGRESS_ALLOW_PRIVATE: _, ...closed } = env;
  const flow = flowPlugin();
  const gateway = await startRuntime(t, { env: closed, plugins: [flow.plugin] });
  await flow.deliver(runEvent(TENANT, 1));
  await until(async () => (await logsOf(gateway, id)).length === 5);
  for (const { status_code, error } of await logsOf(gateway, id)) {
    t.is(status_code, null);
    t.regex(error, /does not lead to a public address/);
  }
  const tested = await gateway.request(`/api/v2/admin/webhooks/${id}/test`, { method: 'POST' });
  t.false(tested.body.success);
  t.is(receiver.received.length, 0);
  const { audit } = gateway.gateway.services;
  await until(
    async () => (await audit.ofAll({ action: 'egress.denied' }, { limit: 9, offset: 0 })).total === 6,
  );
});

test('events that are given up are told in the log, once a minute, with a webhook and what its receiver did', async (t) => {
  const receiver = await startReceiver(t, () => 500);
  const gateway = await startRuntime(t, { env: { ...LOCAL, SVC_WEBHOOK_BACKOFF: '1ms' } });
  const { id } = await makeWebhook(gateway, { url: receiver.url });
  const event = { type: 'agent.created' as const, data: {} };
  await portOf(gateway).emit(TENANT, event, event, event);
  const { database } = gateway.gateway.services;
  const entities = database.forTenant(TENANT);
  await until(async () => (await entities.count(LogTable)) === 6);
  await until(async () => (await entities.count(DeliveryTable)) === 0);
  const told = () => gateway.logs().filter((line) => line.includes('events for webhooks were given up'));
  await until(() => told().length > 0);
  t.is(told().length, 1);
  t.like(JSON.parse(told()[0]!), {
    level: 'warn',
    plugin: 'runtime',
    tenant_id: TENANT,
    webhook_id: id,
    error: 'The receiver answered 500.',
    times: 1,
  });
});

test('a log keeps the latest attempts', async (t) => {
  const receiver = await startReceiver(t);
  const gateway = await startRuntime(t, { env: LOCAL });
  const { id } = await makeWebhook(gateway, { url: receiver.url });
  const entities = gateway.gateway.services.database.forTenant(TENANT);
  const common = {
    webhookId: id,
    eventId: 'e',
    eventType: 'webhook.test',
    attempt: 1,
    durationMs: 1,
    error: null,
  };
  const old = Array.from({ length: 249 }, (_, n) =>
    logWrite({ ...common, id: `old-${1_000 + n}`.replace('old', '00000000'), statusCode: 1, deliveredAt: n }),
  );
  await entities.writeTogether(old);
  await gateway.request(`/api/v2/admin/webhooks/${id}/test`, { method: 'POST' });
  t.is(await entities.count(LogTable), 200);
  t.is((await logsOf(gateway, id))[0].status_code, 204);
});

test('new events are left out while too many are on their way to a webhook', async (t) => {
  const receiver = await startReceiver(t);
  const gateway = await startRuntime(t, { env: LOCAL });
  const full = await makeWebhook(gateway, { url: `${receiver.url}/full` });
  await makeWebhook(gateway, { url: `${receiver.url}/other` });
  const entities = gateway.gateway.services.database.forTenant(TENANT);
  const row = {
    webhookId: full.id,
    eventId: 'e',
    eventType: 'warning',
    userId: null,
    attempt: 1,
    body: '{}',
  };
  for (let from = 0; from < 10_000; from += 1_000) {
    const rows = Array.from({ length: 1_000 }, (_, n) => ({ ...row, id: `${from + n}`, createdAt: 1 }));
    await entities.insertMany(DeliveryTable, rows);
  }
  let dropped = 0;
  const { services } = gateway.gateway;
  const port = createWebhookEvents({
    ...services,
    guard: { redactJsonText: (text) => text },
    log: { warn: () => {} } as never,
    dropped: (count) => {
      dropped += count;
    },
  });
  await port.emit(TENANT, { type: 'agent.created', data: {} });
  await until(() => receiver.received.length === 1);
  t.is(receiver.received[0]!.path, '/other');
  t.is(dropped, 1);
});

test('webhooks, logs and events on their way are exported and erased, those of one user alone where asked', async (t) => {
  const receiver = await startReceiver(t, () => 500);
  const reader = readerPlugin();
  const env = { ...LOCAL, SVC_WEBHOOK_BACKOFF: '1h' };
  const gateway = await startRuntime(t, { env, plugins: [reader.plugin] });
  const { id, secret } = await makeWebhook(gateway, { url: receiver.url });
  const events = ['ann', 'bob'].map((userId) => ({
    type: 'agent.run.failed' as const,
    data: { userId },
    userId,
  }));
  await portOf(gateway).emit(TENANT, ...events);
  await until(async () => (await logsOf(gateway, id)).length === 2);
  const data = reader.contribution('runtime-webhooks');
  const exported = (userId?: string) => exportedBy(data, { tenantId: TENANT, userId });
  const all = await exported();
  t.deepEqual(
    all.map(({ section }) => section),
    ['webhooks', 'webhook_logs', 'webhook_logs', 'webhook_deliveries', 'webhook_deliveries'],
  );
  t.false(JSON.stringify(all).includes(secret.slice(6, -1)));
  const ofAnn = await exported('ann');
  t.is(ofAnn.length, 1);
  t.like(ofAnn[0]!.record, { webhook_id: id, event: { data: { userId: 'ann' } } });
  const { database } = gateway.gateway.services;
  const erase = (userId?: string) => eraseFrom(database, data, { tenantId: TENANT, userId });
  t.deepEqual(await erase('ann'), { webhook_deliveries: 1 });
  t.deepEqual(await exported('ann'), []);
  t.deepEqual(await erase(), { webhooks: 1, webhook_logs: 2, webhook_deliveries: 1 });
  t.deepEqual(await exported(), []);
});

test('a bad list of delays stops the start and is named', async (t) => {
  for (const SVC_WEBHOOK_BACKOFF of ['1s,soon', '25h', Array(21).fill('1s').join()]) {
    await t.throwsAsync(startRuntime(t, { env: { SVC_WEBHOOK_BACKOFF } }), {
      message: /SVC_WEBHOOK_BACKOFF: must be a list of up to 20 durations/,
    });
  }
});
