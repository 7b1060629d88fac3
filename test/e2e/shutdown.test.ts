import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import {
  type FakeProvider,
  type ProviderScript,
  rawStream,
  sse,
  startFakeProvider,
} from '../support/fake-provider.ts';
import {
  ACP_TOKEN,
  FEW_PLUGINS,
  type GatewayProcess,
  runGatewayProcess,
  startGatewayProcess,
  startInFolder,
  temporaryFolder,
} from '../support/gateway-process.ts';
import { gate } from '../support/plugins.ts';
import { connect, statusOf } from '../support/raw-http.ts';
import { open } from '../support/request.ts';
import { until } from '../support/until.ts';

const chunk = (content: string) => sse({ choices: [{ index: 0, delta: { content } }] });
const FINISH = sse({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
const CHAT = {
  method: 'POST',
  token: ACP_TOKEN,
  body: { model: 'default', stream: true, messages: [{ role: 'user', content: 'hello' }] },
};

/** A stream whose rest comes when the test says so. */
function slowStream(rest: Promise<void>): ProviderScript {
  return async (reply) => {
    reply.response.writeHead(200, { 'content-type': 'text/event-stream' });
    await reply.write(chunk('first '));
    await rest;
    await reply.write(chunk('last'));
    await reply.write(`${FINISH}data: [DONE]\n\n`);
    reply.response.end();
  };
}

async function startWith(
  t: ExecutionContext,
  script: ProviderScript,
  env: Record<string, string> = {},
): Promise<GatewayProcess & { readonly provider: FakeProvider }> {
  const provider = await startFakeProvider(script);
  t.teardown(() => provider[Symbol.asyncDispose]());
  const gateway = await startGatewayProcess(t, await temporaryFolder(t), {
    LLM_API_URL: provider.url,
    ...env,
  });
  return Object.assign(gateway, { provider });
}

/** Begins the stream and collects what comes. */
async function beginStream(t: ExecutionContext, { url }: GatewayProcess) {
  const response = await open(`${url}/v1/chat/completions`, CHAT);
  t.is(response.status, 200);
  const stream = { text: '', ended: Promise.resolve() };
  stream.ended = (async () => {
    for await (const bytes of response.body!) stream.text += Buffer.from(bytes).toString();
  })();
  await until(() => stream.text.includes('first'));
  return stream;
}

test('SIGTERM lets a slow stream finish, while nothing new is taken', async (t) => {
  const rest = gate();
  const gateway = await startWith(t, slowStream(rest.opened));
  const stream = await beginStream(t, gateway);
  // A probe whose connection was there before the signal, and clients that keep idle ones, used and not.
  const probe = await connect(gateway.url);
  probe.write('GET /health/ready HTTP/1.1\r\nHost: x\r\n');
  const idle = await connect(gateway.url);
  idle.write('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => statusOf(idle.received()) === 200);
  const unused = await connect(gateway.url);

  gateway.kill('SIGTERM');

  await idle.closed;
  await unused.closed;
  probe.write('\r\n');
  await until(() => probe.received().includes('not_ready'));
  t.is(statusOf(probe.received()), 503);
  await t.throwsAsync(connect(gateway.url), { code: 'ECONNREFUSED' });
  t.false(stream.text.includes('[DONE]'));
  rest.open();
  await stream.ended;
  t.true(stream.text.includes('last'));
  t.true(stream.text.includes('"finish_reason":"stop"'));
  t.true(stream.text.endsWith('data: [DONE]\n\n'));
  const { code, stdout } = await gateway.ended;
  t.is(code, 0);
  t.regex(stdout, /"msg":"stopped"/);
  t.notRegex(stdout, /"level":"(error|fatal)"/);
});

test('during SVC_STOP_DELAY requests are still taken, and each answer asks its client to leave', async (t) => {
  const gateway = await startWith(t, rawStream(), { ...FEW_PLUGINS, SVC_STOP_DELAY: '2s' });
  const kept = await connect(gateway.url);
  kept.write('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => statusOf(kept.received()) === 200);
  t.notRegex(kept.received(), /connection: close/i);

  gateway.kill('SIGTERM');
  await until(() => gateway.logs().some(({ msg }) => String(msg).startsWith('stopping')));

  t.is((await gateway.request('/health/ready')).status, 503);
  t.false(kept.isClosed);
  kept.write('GET /v1/me HTTP/1.1\r\nHost: x\r\n');
  kept.write(`Authorization: Bearer ${ACP_TOKEN}\r\n\r\n`);
  await kept.closed;
  const answer = kept.received().slice(kept.received().lastIndexOf('HTTP/1.1'));
  t.is(statusOf(answer), 200);
  t.regex(answer, /connection: close/i);
  t.is((await gateway.ended).code, 0);
});

test('a stream longer than SVC_DRAIN_TIMEOUT ends with an error event, and the exit is clean', async (t) => {
  const gateway = await startWith(t, slowStream(new Promise(() => {})), {
    ...FEW_PLUGINS,
    SVC_DRAIN_TIMEOUT: '300ms',
  });
  const stream = await beginStream(t, gateway);

  gateway.kill('SIGTERM');

  await stream.ended;
  const [, error] = /event: error\ndata: (.*)\n\ndata: \[DONE\]\n\n$/.exec(stream.text) ?? [];
  t.is(JSON.parse(error ?? '{}').error?.code, 'gateway.draining');
  t.notRegex(stream.text, /"finish_reason":"stop"/);
  const { code, stdout } = await gateway.ended;
  t.is(code, 0);
  t.notRegex(stdout, /"level":"fatal"/);
  const aborted = gateway.logs().find(({ msg }) => String(msg).startsWith('calls that did not end'));
  t.like(aborted, { calls: 1, patterns: ['/v1/chat/completions'] });
  t.true(gateway.provider.requests[0]!.isAborted);
});

test('a second signal ends the process at once', async (t) => {
  const gateway = await startWith(t, slowStream(new Promise(() => {})), FEW_PLUGINS);
  const stream = await beginStream(t, gateway);

  gateway.kill('SIGTERM');
  await until(() => gateway.logs().some(({ msg }) => String(msg).startsWith('stopping')));
  const began = performance.now();
  gateway.kill('SIGINT');

  t.not((await gateway.ended).code, 0);
  t.true(performance.now() - began < 15_000);
  await t.throwsAsync(stream.ended);
});

test('SIGTERM during the start ends the process by itself, as the first process of a container needs', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(path.join(folder, 'plugins/signaller'), { recursive: true });
  // Its set-up never ends: the start waits for it.
  const setup = "() => { process.kill(process.pid, 'SIGTERM'); return new Promise(() => {}); }";
  await writeFile(
    path.join(folder, 'plugins/signaller/plugin.ts'),
    `import { definePlugin } from 'agent-gateway';
     export default definePlugin({ name: 'signaller', summary: 'x', kernel: '^1.0.0', setup: ${setup} });`,
  );
  const env = { SVC_PLUGINS: 'signaller', SVC_PLUGIN_DIRS: 'plugins' };
  const { code, signal, stdout } = await runGatewayProcess(t, folder, env);
  t.like({ code, signal }, { code: 0, signal: null }, stdout);
  t.regex(stdout, /"msg":"stopped"\}\n$/);
});

test('an answer that is not a stream finishes too, and its audit record is there after the restart', async (t) => {
  const rest = gate();
  const slow: ProviderScript = async (reply) => {
    await rest.opened;
    reply.response.writeHead(200, { 'content-type': 'application/json' });
    const message = { role: 'assistant', content: 'slow' };
    reply.response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
  };
  const provider = await startFakeProvider(slow);
  t.teardown(() => provider[Symbol.asyncDispose]());
  const folder = await temporaryFolder(t);
  const gateway = await startGatewayProcess(t, folder, { ...FEW_PLUGINS, LLM_API_URL: provider.url });
  const answer = gateway.request('/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-request-id': 'the-last-one' },
    body: { ...CHAT.body, stream: false },
  });
  await until(() => provider.requests.length === 1);

  gateway.kill('SIGTERM');
  await until(() => gateway.logs().some(({ msg }) => String(msg).startsWith('stopping')));
  rest.open();

  t.is((await answer).body.choices[0].message.content, 'slow');
  t.is((await gateway.ended).code, 0);
  const restarted = await startInFolder(t, folder);
  const { body } = await restarted.request('/v1/audit-logs');
  t.true(body.audit_logs.some((r: { request_id: string }) => r.request_id === 'the-last-one'));
});

test('a client that never finishes its request does not hold up the stop beyond the drain time', async (t) => {
  const gateway = await startWith(t, rawStream(), { ...FEW_PLUGINS, SVC_DRAIN_TIMEOUT: '300ms' });
  const half = await connect(gateway.url);
  half.write('POST /v1/tenants HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n');
  half.write(`Authorization: Bearer ${ACP_TOKEN}\r\nContent-Length: 100\r\n\r\n{"name":`);
  await until(() => gateway.request('/metrics').then(({ body }) => /in_flight 2/.test(body)));

  const began = performance.now();
  const { code, stdout } = await gateway.stop();

  t.is(code, 0);
  t.true(performance.now() - began < 20_000);
  t.notRegex(stdout, /"level":"fatal"/);
  if (!half.isClosed) await half.closed;
});
