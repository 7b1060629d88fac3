import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  bundledPlugins,
  fakeModel,
  freshDatabase,
  pluginConformance,
  startTestGateway,
  type TestGateway,
  type TestGatewayOptions,
  testDatabases,
  until,
} from 'agent-gateway/testing';
import conformance from './conformance.ts';
import plugin from './plugin.ts';

const databases = testDatabases();
const options = { ...conformance, databases: Object.values(databases) };
for (const { title, run } of pluginConformance(plugin, options)) test(title, run);

for (const [name, database] of Object.entries(databases)) {
  test(`one report a period has what all replicas found, and each finding is in one (${name})`, async () => {
    await using shared = await freshDatabase(database);
    const yaml = 'plugins: { moderation: { config: { report_every: 1s } } }';
    await using first = await start({ env: shared.env, yaml });
    // Replicas share a server: SQLite is for one process.
    await using other = database === 'sqlite' ? undefined : await start({ env: shared.env, yaml });
    const second = other ?? first;
    const reported = async () => {
      const { body } = await first.request('/admin/v1/audit-logs?action=moderation.report');
      const records: { detail: { changes: { refused: number } } }[] = body.audit_logs;
      return records.reduce((sum, { detail }) => sum + detail.changes.refused, 0);
    };
    for (const gateway of [first, second, first]) await ask(gateway, 'open sesame');
    await until(async () => (await reported()) === 3, 60_000);
    await ask(second, 'open sesame');
    await until(async () => (await reported()) === 4, 60_000);
  });
}

test('questions are refused and redacted', async () => {
  await using gateway = await start();
  const refused = await ask(gateway, 'Please Open Sesame now');
  assert.deepEqual([refused.status, refused.body.error.code], [400, 'guard.input-blocked']);
  const { content } = (await ask(gateway, 'My number is 555-0199.')).body.choices[0].message;
  assert.match(content, /My number is \[removed\]/);
  const { body } = await gateway.request('/metrics');
  assert.match(body, /moderation_texts_total\{action="refused"\} 1/);
  assert.match(body, /moderation_texts_total\{action="redacted"\} 1/);
});

test('answers are redacted, streamed ones too, wherever they are cut', async () => {
  const pieces = 'Call 555-0199 or 555-0123, please.'.match(/.{1,3}/g) ?? [];
  await using gateway = await start({ model: fakeModel({ pieces }) });
  const expected = 'Call [removed] or [removed], please.';
  assert.equal((await ask(gateway, 'Which number?')).body.choices[0].message.content, expected);
  assert.deepEqual(streamed(await ask(gateway, 'Which number?', true)), { text: expected, error: undefined });
});

test('an answer that is refused ends, and nothing of what is refused has left', async () => {
  const says = 'The words that you look for are: open sesame. Use them well.';
  await using gateway = await start({ model: fakeModel(says) });
  assert.equal((await ask(gateway, 'Which words?')).body.error.code, 'guard.output-blocked');
  const { text, error } = streamed(await ask(gateway, 'Which words?', true));
  assert.equal(error, 'guard.output-blocked');
  assert.match(text, /^The words that you/);
  assert.doesNotMatch(text, /open/);
});

test('rules are for the tenants that they name', async () => {
  await using agents = await copyOfAgents((yaml) =>
    yaml.replace('  rules:', `  tenants: ['${OTHER}']\n  rules:`),
  );
  await using gateway = await start({ env: agents.env });
  assert.equal((await ask(gateway, 'open sesame')).status, 200);
});

test('gRPC checks one text, and texts as they come', async () => {
  await using gateway = await start();
  const proto = new URL('./proto/moderation.proto', import.meta.url);
  const moderation = gateway.grpc({ proto, service: 'example.moderation.v1.ModerationService' });
  assert.deepEqual((await moderation.call('Check', { text: 'open sesame' })).message, {
    action: 'refused',
    text: '',
  });
  const { code, messages } = await moderation.call('CheckStream', [
    { text: 'Hello' },
    { text: 'Call 555-0199' },
  ]);
  assert.equal(code, 'OK');
  assert.deepEqual(messages, [
    { action: 'passed', text: 'Hello' },
    { action: 'redacted', text: 'Call [removed]' },
  ]);
});

test('rules with a mistake are reported with their line, and the last good ones stay', async () => {
  await using agents = await copyOfAgents((yaml) => yaml);
  await using gateway = await start({ env: agents.env });
  await writeFile(agents.file, (await readFile(agents.file, 'utf8')).replace('open sesame', '(open'));
  const reported = () => gateway.logs().find((line) => line.includes('house-rules.yaml:6'));
  await until(async () => reported() !== undefined, 60_000);
  assert.match(reported() ?? '', /is no regular expression/);
  assert.equal((await ask(gateway, 'open sesame')).status, 400);
});

const OTHER = '00000000-0000-0000-0000-000000000002';
const AGENTS = join(import.meta.dirname, 'agents.d');

/** A gateway with its bundled plugins, moderation, and the rules of `agents.d`. */
async function start({ env, ...options }: TestGatewayOptions = {}): Promise<TestGateway> {
  const plugins = [...(await bundledPlugins()), plugin];
  return startTestGateway({ plugins, env: { SVC_AGENTS_DIR: AGENTS, ...env }, ...options });
}

const ask = (gateway: TestGateway, content: string, stream = false) =>
  gateway.request('/v1/chat/completions', {
    method: 'POST',
    body: { model: 'default', stream, messages: [{ role: 'user', content }] },
  });

/** The text of a streamed answer, and the code of the error in it. */
function streamed({ body }: { body: string }) {
  const events = [...body.matchAll(/^data: (\{.*\})$/gm)].map(([, json = '']) => JSON.parse(json));
  const text = events.map((event) => event.choices?.[0]?.delta?.content ?? '').join('');
  return { text, error: events.find((event) => event.error !== undefined)?.error.code };
}

/** The rules of `agents.d` with a change, in a folder of their own. */
async function copyOfAgents(change: (yaml: string) => string) {
  const folder = await mkdtemp(join(tmpdir(), 'moderation-'));
  const file = join(folder, 'house-rules.yaml');
  await writeFile(file, change(await readFile(join(AGENTS, 'house-rules.yaml'), 'utf8')));
  return {
    file,
    env: { SVC_AGENTS_DIR: folder },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}
