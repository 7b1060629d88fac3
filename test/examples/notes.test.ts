import { definePlugin } from 'agent-gateway';
import {
  manualClock,
  startTestGateway,
  type TestGateway,
  type TestGatewayOptions,
} from 'agent-gateway/testing';
import test, { type ExecutionContext } from 'ava';
import { NotesRef } from '../../examples/plugins/notes/contract.ts';
import notes from '../../examples/plugins/notes/plugin.ts';
import agentEngine from '../../plugins/agent-engine/plugin.ts';
import platform from '../../plugins/platform/plugin.ts';
import records from '../../plugins/records/plugin.ts';
import { eachDatabase } from '../support/databases.ts';

const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';

async function start(t: ExecutionContext, options: TestGatewayOptions = {}): Promise<TestGateway> {
  const gateway = await startTestGateway({ ...options, plugins: [records, agentEngine, platform, notes] });
  t.teardown(gateway.stop);
  return gateway;
}

const keep = (gateway: TestGateway, text: string, token?: string) =>
  gateway.request('/v1/notes', { method: 'POST', body: { text }, ...(token === undefined ? {} : { token }) });

/** Makes a tenant with a key and returns the raw key. */
async function tenantKey({ request }: TestGateway, grant: Record<string, unknown> = {}): Promise<string> {
  const tenant = await request('/v1/tenants', { method: 'POST', body: { name: 'Acme' } });
  const body = { tenant_id: tenant.body.id, name: 'application', ...grant };
  return (await request('/v1/api-keys', { method: 'POST', body })).body.key;
}

eachDatabase(test, 'notes are kept, listed newest first, and deleted', async (t, fresh) => {
  const clock = manualClock();
  const gateway = await start(t, { env: fresh.environment, clock });
  const first = await keep(gateway, 'Buy milk');
  clock.advance(1);
  t.is(first.status, 201);
  t.deepEqual(Object.keys(first.body).sort(), ['created_at', 'id', 'text']);
  await keep(gateway, 'Water the plants');
  const { body } = await gateway.request('/v1/notes?limit=1');
  t.is(body.total, 2);
  t.is(body.notes[0].text, 'Water the plants');
  const path = `/v1/notes/${first.body.id}`;
  t.is((await gateway.request(path, { method: 'DELETE' })).status, 204);
  t.is((await gateway.request(path, { method: 'DELETE' })).body.code, 'notes.not-found');
});

eachDatabase(test, 'the migration makes the table that the entity describes', async (t, fresh) => {
  const { gateway } = await start(t, { env: fresh.environment });
  t.is(await gateway.services.database.schemaDrift(), '');
});

eachDatabase(test, 'a tenant neither sees nor deletes the notes of another one', async (t, fresh) => {
  const gateway = await start(t, { env: fresh.environment });
  const { body: note } = await keep(gateway, 'of the default tenant');
  const token = await tenantKey(gateway);
  await keep(gateway, 'of the tenant', token);
  t.deepEqual(
    (await gateway.request('/v1/notes', { token })).body.notes.map((each: { text: string }) => each.text),
    ['of the tenant'],
  );
  const deletion = await gateway.request(`/v1/notes/${note.id}`, { method: 'DELETE', token });
  t.is(deletion.body.code, 'notes.not-found');
  t.is((await gateway.request('/v1/notes')).body.total, 1);
});

test('a key without the scope write may list notes and keep none', async (t) => {
  const gateway = await start(t);
  const token = await tenantKey(gateway, { scopes: ['read'] });
  t.is((await gateway.request('/v1/notes', { token })).status, 200);
  const { status, body } = await keep(gateway, 'not mine to write', token);
  t.is(status, 403);
  t.is(body.detail, 'This needs the scope write.');
});

test('a text that is missing or too long is refused, and the field is named', async (t) => {
  const gateway = await start(t);
  for (const body of [{}, { text: '' }, { text: 'x'.repeat(2001) }]) {
    const answer = await gateway.request('/v1/notes', { method: 'POST', body });
    t.is(answer.status, 400);
    t.is(answer.body.errors[0].pointer, '/body/text');
  }
});

test('NOTES_MAX bounds the notes of a tenant', async (t) => {
  const gateway = await start(t, { env: { NOTES_MAX: '1' } });
  await keep(gateway, 'the only one');
  const { status, body } = await keep(gateway, 'one too many');
  t.is(status, 409);
  t.is(body.code, 'notes.full');
});

test('kept notes are counted', async (t) => {
  const gateway = await start(t);
  await keep(gateway, 'one');
  t.regex((await gateway.request('/metrics')).body, /^notes_kept_total 1$/m);
});

test('another plugin that needs the notes gets the same service', async (t) => {
  let keepFromElsewhere = async (): Promise<unknown> => undefined;
  const reader = definePlugin({
    name: 'reader',
    summary: 'keeps notes of its own accord',
    kernel: '^1.0.0',
    needs: { notes: NotesRef },
    setup(scope, needed) {
      const entities = scope.services.database.forTenant(DEFAULT_TENANT);
      keepFromElsewhere = () => needed.notes.keep(entities, 'from elsewhere');
    },
  });
  await using gateway = await startTestGateway({ plugins: [notes, reader] });
  await keepFromElsewhere();
  t.is((await gateway.request('/v1/notes')).body.notes[0].text, 'from elsewhere');
});
