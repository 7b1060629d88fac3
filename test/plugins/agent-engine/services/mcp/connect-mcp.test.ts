import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import test, { type ExecutionContext } from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { outbound } from '../../../../../foundation/http/outbound.ts';
import {
  connectMcp,
  failureOf,
  resultText,
  soundTools,
} from '../../../../../plugins/agent-engine/services/mcp/connect-mcp.ts';
import { until } from '../../../../support/until.ts';

const refusal = (status: number) =>
  new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, 'x', { status, statusText: 'x' });
const fetchFailed = (code: string) => new TypeError('fetch failed', { cause: { code } });

for (const { title, error, failure } of [
  { title: 'an error of JSON-RPC is the answer', error: new ProtocolError(-32_602, 'x'), failure: 'answer' },
  { title: 'a session that is unknown has done nothing', error: refusal(404), failure: 'refused' },
  { title: 'nor has one that is called a bad request', error: refusal(400), failure: 'refused' },
  { title: 'a credential that is no longer valid has done nothing', error: refusal(401), failure: 'refused' },
  { title: 'nobody listens, so nothing was done', error: fetchFailed('ECONNREFUSED'), failure: 'refused' },
  { title: 'a connection that was reset is broken', error: fetchFailed('ECONNRESET'), failure: 'broken' },
  { title: 'a server that fails may have done it', error: refusal(502), failure: 'broken' },
  {
    title: 'a program that ended may have done it',
    error: new SdkError(SdkErrorCode.ConnectionClosed, 'x'),
    failure: 'broken',
  },
  {
    title: 'a missing permission says nothing against the connection',
    error: refusal(403),
    failure: 'harmless',
  },
  {
    title: 'nor does a server that is slow',
    error: new SdkError(SdkErrorCode.RequestTimeout, 'x'),
    failure: 'harmless',
  },
] as const) {
  test(title, (t) => t.is(failureOf(error), failure));
}

for (const { title, result, text } of [
  {
    title: 'the parts of a result are its text, in order',
    result: {
      content: [
        { type: 'text', text: 'a' },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
        { type: 'resource_link', name: 'b', uri: 'file:///b' },
        { type: 'resource', resource: { uri: 'x:c', text: 'c' } },
        { type: 'resource', resource: { uri: 'x:d', blob: 'AAAA' } },
      ],
      structuredContent: { a: 1 },
    },
    text: 'a\n[image of type image/png, 4 characters of base64, not shown]\n[b: file:///b]\nc\n[binary resource x:d]',
  },
  {
    title: 'structured content counts where there is no other',
    result: { structuredContent: [1] },
    text: '[1]',
  },
  { title: 'a part of no known type is none', result: { content: [{ type: 'x' }] }, text: undefined },
  { title: 'nor is null', result: { content: [null] }, text: undefined },
  { title: 'nor is a text without text', result: { content: [{ type: 'text', text: 1 }] }, text: undefined },
  { title: 'content has to be a list', result: { content: 'x' }, text: undefined },
]) {
  test(title, (t) => t.is(resultText(result), text));
}

test('of a tool whose schema is wrong in many places one of them is named', (t) => {
  const wrong = { name: 'wrong', inputSchema: { type: 'object', required: ['a', ...Array(1_000).fill(0)] } };
  t.deepEqual(soundTools([wrong]), {
    tools: [],
    flaws: ['wrong: inputSchema.required.0: Invalid input: expected string, received number'],
  });
});

interface Sent {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly protocolVersion?: string };
}

/** A client of a server that answers calls of tools as `onCall` does, and what else it gets as `onOther`. */
async function connect(
  t: ExecutionContext,
  onCall: (id: Sent['id'], response: http.ServerResponse) => void,
  onOther: (request: http.IncomingMessage, response: http.ServerResponse) => void,
) {
  const server = http.createServer(async (request, response) => {
    if (request.method !== 'POST') return onOther(request, response);
    const { id, method, params } = (await json(request)) as Sent;
    if (method === 'tools/call') return onCall(id, response.writeHead(200, STREAM));
    if (method === undefined) return onOther(request, response);
    if (id === undefined) return response.writeHead(202).end();
    const { protocolVersion } = params ?? {};
    // The gateway uses no icons, so they may be wrong.
    const serverInfo = { name: 's', version: '1', icons: [0], websiteUrl: 0 };
    const result = { protocolVersion, capabilities: { tools: {}, logging: 0 }, serverInfo };
    const error = { code: -32_601, message: 'unknown' };
    const ANSWERS = {
      initialize: { result },
      'tools/list': { result: { tools: TOOLS, nextCursor: 'more' } },
    };
    const answer = ANSWERS[method as keyof typeof ANSWERS] ?? { error };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const endpoint = { transport: 'http', url, headers: {} } as const;
  const listener = { onFlaws: () => {}, onToolsChanged: () => {} };
  const pool = outbound({ connections: 64, connectMs: 10_000 });
  const made = { version: '1.0.0', clock: systemClock, handshakeMs: 20_000, connect: pool.connect };
  const client = await connectMcp(endpoint, made, AbortSignal.timeout(20_000), listener);
  t.teardown(async () => {
    await client.close();
    await pool.destroy();
    server.closeAllConnections();
    server.close();
  });
  return client;
}

const TOOLS = Array.from({ length: 1_200 }, (_, n) => ({ name: `t${n}`, inputSchema: { type: 'object' } }));
const STREAM = { 'content-type': 'text/event-stream' };
const event = (message: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
const done = (id: Sent['id']) => event({ id, result: { content: [] } });

test('a server that asks without end, and takes no answer, gets a few at one time', async (t) => {
  let answers = 0;
  const client = await connect(
    t,
    (id, response) => {
      for (let asked = 0; asked < 1_000; asked += 1)
        response.write(event({ id: `p${asked}`, method: 'ping' }));
      response.end(done(id));
    },
    ({ method }, response) => {
      if (method === 'GET') response.writeHead(405).end();
      else answers += 1;
    },
  );
  await client.callTool({ name: 'ask' });
  await until(() => answers >= 16);
  await client.callTool({ name: 'ask' });
  t.is(answers, 16);
});

test('a result with many flaws is refused for one of them', async (t) => {
  const content = Array.from({ length: 100 }, () => ({ type: 'x' }));
  const client = await connect(
    t,
    (id, response) => response.end(event({ id, result: { content } })),
    (_, response) => response.writeHead(405).end(),
  );
  const { message } = await t.throwsAsync(client.callTool({ name: 'wrong' }));
  t.true(message.length < 1_000, message);
});

test('of a server that lists tools without end the first ones are looked at', async (t) => {
  const nothing = () => {};
  const client = await connect(t, nothing, (_, response) => response.writeHead(405).end());
  const { tools } = await client.listTools();
  t.deepEqual([tools.length, tools.at(-1)?.name], [1_000, 't999']);
});

test('a server cannot have its streams resumed without a pause', async (t) => {
  let call: Sent['id'];
  let ended = 0;
  let resumed = 0;
  const client = await connect(
    t,
    (id, response) => {
      call = id;
      ended = performance.now();
      response.end('id: 1\nretry: 7\ndata: \n\n');
    },
    ({ headers }, response) => {
      if (headers['last-event-id'] === undefined) return response.writeHead(405).end();
      resumed = performance.now();
      return response.writeHead(200, STREAM).end(done(call));
    },
  );
  t.like(await client.callTool({ name: 'wait' }), { content: [{ text: '' }] });
  // Timers are late at times, and never early by more than the millisecond to which they round.
  t.true(resumed - ended > 245, `resumed after ${resumed - ended} ms`);
});
