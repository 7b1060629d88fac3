import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { until } from '../../support/until.ts';
import { startRuntime } from './runtime-gateway.ts';

const AGENT = 'apiVersion: svc/v1\nkind: Agent\nmetadata: {name: clerk}\nspec: {type: chat_model_agent}\n';

test('the status shows files and plugins to operators, and a tenant its agents; a reload says what failed', async (t) => {
  const gateway = await startRuntime(t);
  const { token } = await gateway.makeTenant();
  const agents = path.join(gateway.folder, 'agents.d');
  await writeFile(path.join(agents, 'clerk.yaml'), AGENT);
  await writeFile(
    path.join(agents, 'bad.yaml'),
    AGENT.replace('clerk', 'bad').replace('chat_model_agent', 'x'),
  );
  const reloaded = await gateway.request('/api/v2/admin/reload', { method: 'POST' });
  t.is(reloaded.status, 200);
  t.like(reloaded.body, { loaded: 1, failed: [{ file: 'bad.yaml' }] });
  t.regex(reloaded.body.failed[0].error, /bad\.yaml:4: \/spec\/type/);

  const { status, body } = await gateway.request('/api/v2/admin/status');
  t.is(status, 200);
  t.like(body, { status: 'degraded', ready: true });
  t.regex(body.last_reload_at, /\.\d{3}Z$/);
  t.true(Number.isInteger(body.uptime_seconds));
  t.like(body.agents, [
    { name: 'bad', status: 'failed', file: 'bad.yaml' },
    { name: 'clerk', type: 'chat_model_agent', status: 'live', file: 'clerk.yaml' },
  ]);
  t.regex(body.agents[0].error, /^line 4: \/spec\/type: /);
  t.like(
    body.plugins.find(({ name }: { name: string }) => name === 'runtime'),
    { enabled: true, state: 'active' },
  );

  const shown = (await gateway.request('/api/v2/admin/status', { token })).body;
  t.deepEqual(shown.agents, [{ name: 'clerk', type: 'chat_model_agent', status: 'live' }]);
  t.deepEqual([shown.status, shown.plugins], ['ok', undefined]);
  for (const [method, at] of [
    ['POST', 'reload'],
    ['GET', 'logs'],
  ] as const) {
    const refused = await gateway.request(`/api/v2/admin/${at}`, { method, token });
    t.deepEqual([refused.status, refused.body.code], [403, 'admin.operator-required']);
  }
});

test('an agent whose file cannot be read as YAML any more says why', async (t) => {
  const gateway = await startRuntime(t);
  const file = path.join(gateway.folder, 'agents.d', 'clerk.yaml');
  const reload = () => gateway.request('/api/v2/admin/reload', { method: 'POST' });
  const shown = async () => (await gateway.request('/api/v2/admin/status')).body.agents;
  await writeFile(file, AGENT);
  await reload();
  await writeFile(file, `${AGENT}tools: [\n`);
  await reload();
  const [broken, ...others] = await shown();
  t.like(broken, { name: 'clerk', type: 'chat_model_agent', status: 'failed', file: 'clerk.yaml' });
  t.regex(broken.error, /^line \d: Flow sequence/);
  t.deepEqual(others, []);
  await writeFile(file, '');
  await reload();
  t.like(await shown(), [
    { name: 'clerk', status: 'failed', error: 'is empty; delete it to remove what it held' },
  ]);
});

test('an operator follows the log from a level on, without credentials, until he leaves', async (t) => {
  const gateway = await startRuntime(t);
  const { token } = gateway;
  const leave = new AbortController();
  const { body, status } = await fetch(`${gateway.url}/api/v2/admin/logs?level=warn`, {
    headers: { authorization: `Bearer ${token}` },
    signal: leave.signal,
  });
  t.is(status, 200);
  let text = '';
  const reading = (async () => {
    for await (const chunk of body!.pipeThrough(new TextDecoderStream())) text += chunk;
  })().catch(() => {});
  const bad = AGENT.replace('chat_model_agent', `"${token}"`);
  await writeFile(path.join(gateway.folder, 'agents.d', `bad.yaml`), bad);
  await gateway.request('/api/v2/admin/reload', { method: 'POST' });
  await until(() => text.includes('bad.yaml'));
  t.regex(text, /^event: log\ndata: \{"level":"error","time":/m);
  t.false(text.includes('"level":"info"'));
  t.false(text.includes(token));
  leave.abort();
  await reading;
  t.is((await gateway.request('/api/v2/admin/logs?level=loud')).status, 400);
});

test('of many who ask for the log at one moment eight are let in, and a place that is left is free again', async (t) => {
  const gateway = await startRuntime(t);
  const ask = async () => {
    const leave = new AbortController();
    const headers = { authorization: `Bearer ${gateway.token}` };
    const { status } = await fetch(`${gateway.url}/api/v2/admin/logs`, { headers, signal: leave.signal });
    return { status, leave };
  };
  const asked = await Promise.all(Array.from({ length: 12 }, ask));
  const open = asked.filter(({ status }) => status === 200);
  t.deepEqual([open.length, asked.filter(({ status }) => status === 503).length], [8, 4]);
  open[0]!.leave.abort();
  await until(async () => (await ask()).status === 200);
  t.is((await ask()).status, 503);
});

test('a look at the address of the log by HEAD takes no place of its readers', async (t) => {
  const gateway = await startRuntime(t);
  const url = `${gateway.url}/api/v2/admin/logs`;
  const headers = { authorization: `Bearer ${gateway.token}` };
  const looks = Array.from({ length: 9 }, () => fetch(url, { headers, method: 'HEAD' }));
  for (const { status, headers: answered } of await Promise.all(looks))
    t.deepEqual([status, answered.get('allow')], [405, 'GET, OPTIONS']);
  const leave = new AbortController();
  t.is((await fetch(url, { headers, signal: leave.signal })).status, 200);
  leave.abort();
});

test('an open log stream does not hold up the end of the gateway', async (t) => {
  const gateway = await startRuntime(t);
  const { body } = await fetch(`${gateway.url}/api/v2/admin/logs`, {
    headers: { authorization: `Bearer ${gateway.token}` },
  });
  const reading = (async () => {
    let text = '';
    for await (const chunk of body!.pipeThrough(new TextDecoderStream())) text += chunk;
    return text;
  })();
  await gateway.stop();
  t.regex(await reading, /event: log|^$/);
  t.false(gateway.logs().some((line) => line.includes('what is still in flight is aborted')));
});

test('health, readiness with the agents, and metrics are for everybody, at the root and under the versions', async (t) => {
  const gateway = await startRuntime(t);
  const ask = (path: string) => gateway.request(path, { token: null });
  for (const at of ['', '/api/v2', '/api/v1']) {
    t.deepEqual((await ask(`${at}/health`)).body, { status: 'ok' }, at);
    const ready = await ask(`${at}/ready`);
    t.deepEqual([ready.status, ready.body.status, ready.body.database], [200, 'ready', 'ok'], at);
    t.regex((await ask(`${at}/metrics`)).body, /^svc_build_info/m, at);
  }
  const before = (await ask('/ready')).body.agents;
  await writeFile(path.join(gateway.folder, 'agents.d', 'clerk.yaml'), AGENT);
  await writeFile(
    path.join(gateway.folder, 'agents.d', 'bad.yaml'),
    AGENT.replace('clerk', 'bad').replace('chat_', 'x_'),
  );
  await gateway.request('/api/v2/admin/reload', { method: 'POST' });
  const { body } = await ask('/ready');
  t.deepEqual(body.agents, { live: before.live + 1, failed: before.failed + 1 });
  t.is(body.status, 'ready');
});
