import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_TENANT_ID, definePlugin } from 'agent-gateway';
import {
  bundledPlugins,
  manualClock,
  pluginConformance,
  startTestGateway,
  type TestGateway,
  testDatabases,
} from 'agent-gateway/testing';
import conformance from './conformance.ts';
import { NotesRef } from './contract.ts';
import plugin from './plugin.ts';

const databases = testDatabases();
const options = { ...conformance, databases: Object.values(databases) };
for (const { title, run } of pluginConformance(plugin, options)) test(title, run);

for (const [name, database] of Object.entries(databases)) {
  test(`notes are kept, listed newest first, and deleted (${name})`, async () => {
    const clock = manualClock();
    await using gateway = await startTestGateway({ plugins: [plugin], database, clock });
    const first = await keep(gateway, 'Buy milk');
    clock.advance(1);
    assert.equal(first.status, 201);
    await keep(gateway, 'Water the plants');
    const { body } = await gateway.request('/v1/notes?limit=1');
    assert.deepEqual([body.total, body.notes[0].text], [2, 'Water the plants']);
    const path = `/v1/notes/${first.body.id}`;
    assert.equal((await gateway.request(path, { method: 'DELETE' })).status, 204);
    assert.equal((await gateway.request(path, { method: 'DELETE' })).body.code, 'notes.not-found');
  });

  test(`a tenant neither sees nor deletes the notes of another one (${name})`, async () => {
    await using gateway = await startTestGateway({ plugins: [plugin], database });
    const { body: note } = await keep(gateway, 'of the default tenant');
    const { token } = await gateway.makeTenant();
    await keep(gateway, 'of the tenant', token);
    assert.deepEqual(textsOf(await gateway.request('/v1/notes', { token })), ['of the tenant']);
    const deletion = await gateway.request(`/v1/notes/${note.id}`, { method: 'DELETE', token });
    assert.equal(deletion.body.code, 'notes.not-found');
    assert.deepEqual(textsOf(await gateway.request('/v1/notes')), ['of the default tenant']);
  });

  test(`the export of a tenant has its notes, that of a user none (${name})`, async () => {
    const plugins = [...(await bundledPlugins()), plugin];
    await using gateway = await startTestGateway({ plugins, database });
    await keep(gateway, 'Buy milk');
    const { body: ofAnna } = await gateway.request('/v1/gdpr/export?user_id=anna');
    assert.deepEqual(ofAnna.notes, []);
    const { body: exported } = await gateway.request('/v1/gdpr/export');
    assert.deepEqual(textsOf({ body: exported }), ['Buy milk']);
  });
}

test('a key without the scope write may list notes and keep none', async () => {
  // With the bundled plugins: one of them makes keys.
  await using gateway = await startTestGateway({ plugins: [...(await bundledPlugins()), plugin] });
  const { id } = await gateway.makeTenant();
  const body = { tenant_id: id, name: 'reader', roles: ['user'], scopes: ['read'] };
  const { key } = (await gateway.request('/v1/api-keys', { method: 'POST', body })).body;
  assert.equal((await gateway.request('/v1/notes', { token: key })).status, 200);
  const refused = await keep(gateway, 'not mine to write', key);
  assert.deepEqual([refused.status, refused.body.detail], [403, 'This needs the scope write.']);
});

test('a text that is missing or too long is refused, and the field is named', async () => {
  await using gateway = await startTestGateway({ plugins: [plugin] });
  for (const body of [{}, { text: '' }, { text: 'x'.repeat(2001) }]) {
    const answer = await gateway.request('/v1/notes', { method: 'POST', body });
    assert.deepEqual([answer.status, answer.body.errors[0].pointer], [400, '/body/text']);
  }
});

test('NOTES_MAX bounds the notes of a tenant, and those that were kept are counted', async () => {
  await using gateway = await startTestGateway({ plugins: [plugin], env: { NOTES_MAX: '1' } });
  await keep(gateway, 'the only one');
  const refused = await keep(gateway, 'one too many');
  assert.deepEqual([refused.status, refused.body.code], [409, 'notes.full']);
  assert.match((await gateway.request('/metrics')).body, /^notes_kept_total 1$/m);
});

test('another plugin that needs the notes gets the same service', async () => {
  let keepFromElsewhere = async (): Promise<unknown> => undefined;
  const reader = definePlugin({
    name: 'reader',
    summary: 'keeps notes of its own accord',
    kernel: '^1.0.0',
    needs: { notes: NotesRef },
    setup(scope, needed) {
      const entities = scope.services.database.forTenant(DEFAULT_TENANT_ID);
      keepFromElsewhere = () => needed.notes.keep(entities, 'from elsewhere');
    },
  });
  await using gateway = await startTestGateway({ plugins: [plugin, reader] });
  await keepFromElsewhere();
  assert.deepEqual(textsOf(await gateway.request('/v1/notes')), ['from elsewhere']);
});

const keep = (gateway: TestGateway, text: string, token = gateway.token) =>
  gateway.request('/v1/notes', { method: 'POST', body: { text }, token });

const textsOf = ({ body }: { body: { notes: { text: string }[] } }) => body.notes.map(({ text }) => text);
