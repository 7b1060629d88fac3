import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  bundledPlugins,
  type FakeEgress,
  fakeEgress,
  freshDatabase,
  pluginConformance,
  startTestGateway,
  type TestGatewayOptions,
  testDatabases,
  until,
} from 'agent-gateway/testing';
import conformance from './conformance.ts';
import plugin from './plugin.ts';
import { type Otherwise, SECRET, send } from './teams.ts';

const databases = testDatabases();
const options = { ...conformance, databases: Object.values(databases) };
for (const { title, run } of pluginConformance(plugin, options)) test(title, run);

for (const [name, database] of Object.entries(databases)) {
  test(`a message is answered by the callback, once, however often it comes (${name})`, async () => {
    const teams = fakeEgress(() => ({ status: 200 }));
    await using gateway = await start(teams, { database });
    const sent = await Promise.all(Array.from({ length: 4 }, () => send(gateway.url, 'm1')));
    assert.deepEqual(
      sent.map(({ status }) => status),
      [202, 202, 202, 202],
    );
    await until(() => teams.sent.length === 1, 60_000);
    await send(gateway.url, 'm1');
    await send(gateway.url, 'm2');
    await until(() => teams.sent.length > 1, 60_000);
    const [first, second] = teams.sent.map(({ request }) => JSON.parse(String(request.body)));
    assert.deepEqual([first.reply_to, second.reply_to], ['m1', 'm2']);
    assert.match(first.text, /Hello/);
  });

  test(`a callback that fails is tried again, also after a restart (${name})`, async () => {
    await using shared = await freshDatabase(database);
    const away = fakeEgress(() => ({ status: 503 }));
    const before = await start(away, { env: shared.env });
    await send(before.url, 'm1');
    await until(() => away.sent.length >= 2, 60_000);
    await before.stop();
    const teams = fakeEgress(() => ({ status: 200 }));
    await using _after = await start(teams, { env: shared.env });
    await until(() => teams.sent.length === 1, 60_000);
    // What was said the first time is said now: the agent is not asked again.
    assert.equal(teams.sent[0]?.request.body, away.sent[0]?.request.body);
  });

  test(`what was delivered is known by its key alone (${name})`, async () => {
    const teams = fakeEgress(() => ({ status: 200 }));
    await using gateway = await start(teams, { database });
    await send(gateway.url, 'm1');
    const messages = async () => (await gateway.request('/v1/gdpr/export?user_id=anna')).body.teams_messages;
    let found = await messages();
    for (; found[0].state !== 'delivered'; found = await messages());
    assert.deepEqual(found, [{ hook: 'support', id: 'm1', user_id: 'anna', state: 'delivered', text: '' }]);
  });
}

test('what is not signed, too old, or for no hook, is 401', async () => {
  await using gateway = await start(fakeEgress(() => undefined));
  const status = async (otherwise: Otherwise) => (await send(gateway.url, 'm1', otherwise)).status;
  assert.equal(await status({ signature: 'ab'.repeat(32) }), 401);
  assert.equal(await status({ signature: '' }), 401);
  assert.equal(await status({ hook: 'sales' }), 401);
  assert.equal(await status({ seconds: Math.floor(Date.now() / 1000) - 301 }), 401);
  assert.equal((await gateway.request('/hooks/teams/support', { method: 'POST', body: {} })).status, 403);
  assert.equal(await status({}), 202);
});

test('a hook has a limit of its own', async () => {
  const yaml = 'plugins: { teams-bot: { config: { messages_per_minute: 2 } } }';
  await using gateway = await start(
    fakeEgress(() => ({ status: 200 })),
    { yaml },
  );
  const statuses = [];
  for (const id of ['m1', 'm2', 'm3']) statuses.push((await send(gateway.url, id)).status);
  assert.deepEqual(statuses, [202, 202, 429]);
});

/** A gateway with its bundled plugins, the bot, and the hook of `agents.d`. What it sends goes to `egress`. */
async function start(egress: FakeEgress, { env, ...options }: TestGatewayOptions = {}) {
  return startTestGateway({
    plugins: [...(await bundledPlugins()), plugin],
    env: { SVC_AGENTS_DIR: join(import.meta.dirname, 'agents.d'), TEAMS_SECRET: SECRET, ...env },
    services: { egress },
    ...options,
  });
}
