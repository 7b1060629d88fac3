import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bundledPlugins,
  manualClock,
  pluginConformance,
  startTestGateway,
  type TestGateway,
  testDatabases,
} from 'agent-gateway/testing';
import conformance from './conformance.ts';
import plugin from './plugin.ts';

const databases = testDatabases();
const options = { ...conformance, databases: Object.values(databases) };
for (const { title, run } of pluginConformance(plugin, options)) test(title, run);

for (const [name, database] of Object.entries(databases)) {
  test(`a user has one rating of an answer, however often and at once it is sent (${name})`, async () => {
    await using gateway = await startTestGateway({ plugins: [plugin], database });
    const sent = await Promise.all(Array.from({ length: 8 }, () => rate(gateway, 'm1', 'up')));
    assert.deepEqual([...new Set(sent.map(({ status }) => status))], [200]);
    await rate(gateway, 'm1', 'down');
    await rate(gateway, 'm1', 'up', { user: 'ben' });
    assert.deepEqual(await summary(gateway), { up: 1, down: 1 });
  });

  test(`the list has pages, newest first (${name})`, async () => {
    const clock = manualClock();
    await using gateway = await startTestGateway({ plugins: [plugin], database, clock });
    for (const message of ['m1', 'm2', 'm3']) {
      await rate(gateway, message, 'up');
      clock.advance(1000);
    }
    const { body } = await gateway.request('/v1/feedback?limit=2&offset=1');
    assert.deepEqual([body.total, body.limit, body.offset], [3, 2, 1]);
    assert.deepEqual(messagesOf(body.ratings), ['m2', 'm1']);
  });

  test(`a rating is taken back by whom it belongs to, and by nobody else (${name})`, async () => {
    await using gateway = await startTestGateway({ plugins: [plugin], database });
    await rate(gateway, 'm1', 'up', { user: 'anna' });
    const takeBack = (user: string) =>
      gateway.request('/v1/feedback/m1', { method: 'DELETE', headers: { 'X-Svc-User-Id': user } });
    assert.equal((await takeBack('ben')).body.code, 'feedback.not-found');
    assert.equal((await takeBack('anna')).status, 204);
    assert.deepEqual(await summary(gateway), { up: 0, down: 0 });
  });

  test(`tenants rate the same message apart from each other (${name})`, async () => {
    await using gateway = await startTestGateway({ plugins: [plugin], database });
    const [acme, globex] = [await gateway.makeTenant('acme'), await gateway.makeTenant('globex')];
    await rate(gateway, 'm1', 'up', acme);
    await rate(gateway, 'm1', 'down', globex);
    assert.deepEqual(await summary(gateway, acme.token), { up: 1, down: 0 });
    assert.deepEqual(await summary(gateway, globex.token), { up: 0, down: 1 });
  });

  test(`reading and rating need scopes of their own (${name})`, async () => {
    // With the bundled plugins: one of them makes keys.
    const plugins = [...(await bundledPlugins()), plugin];
    await using gateway = await startTestGateway({ plugins, database });
    const { id } = await gateway.makeTenant();
    const keyWith = async (scope: string) => {
      const body = { tenant_id: id, name: scope, roles: ['user'], scopes: [scope] };
      return (await gateway.request('/v1/api-keys', { method: 'POST', body })).body.key as string;
    };
    const [reader, writer] = [await keyWith('feedback:read'), await keyWith('feedback:write')];
    assert.equal((await rate(gateway, 'm1', 'up', { token: writer })).status, 200);
    assert.equal((await rate(gateway, 'm1', 'up', { token: reader })).body.code, 'auth.forbidden');
    assert.equal((await gateway.request('/v1/feedback', { token: reader })).body.total, 1);
    assert.equal((await gateway.request('/v1/feedback', { token: writer })).status, 403);
  });

  test(`what a user said is exported and erased for him alone (${name})`, async () => {
    const plugins = [...(await bundledPlugins()), plugin];
    await using gateway = await startTestGateway({ plugins, database });
    await rate(gateway, 'm1', 'up', { user: 'anna' });
    await rate(gateway, 'm2', 'up', { user: 'ben' });
    const { body: exported } = await gateway.request('/v1/gdpr/export?user_id=anna');
    assert.deepEqual(messagesOf(exported.feedback_ratings), ['m1']);
    const erased = await gateway.request('/v1/gdpr/data?user_id=anna', { method: 'DELETE' });
    assert.equal(erased.body.deleted.feedback_ratings, 1);
    assert.deepEqual(messagesOf((await gateway.request('/v1/feedback')).body.ratings), ['m2']);
  });
}

function rate(
  gateway: TestGateway,
  message: string,
  verdict: 'up' | 'down',
  { user = 'anna', token = gateway.token }: { user?: string; token?: string } = {},
) {
  const headers = { 'X-Svc-User-Id': user };
  return gateway.request(`/v1/feedback/${message}`, { method: 'PUT', body: { verdict }, headers, token });
}

const summary = async (gateway: TestGateway, token = gateway.token) =>
  (await gateway.request('/v1/feedback-summary', { token })).body;

const messagesOf = (ratings: { message_id: string }[]) => ratings.map(({ message_id: id }) => id);
