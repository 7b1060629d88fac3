import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import test from 'ava';
import pino from 'pino';
import { Agent, setGlobalDispatcher } from 'undici';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { mcpServerKind } from '../../../../../plugins/agent-engine/services/mcp/mcp-server.ts';

/** The five minutes of Node's `fetch`, in no time. */
const SILENCE_MS = 100;

test('a call whose server is silent for longer than fetch waits is answered', async (t) => {
  setGlobalDispatcher(new Agent({ headersTimeout: SILENCE_MS, bodyTimeout: SILENCE_MS }));
  const called = Promise.withResolvers<void>();
  const mayAnswer = Promise.withResolvers<void>();
  const server = http.createServer(async (request, response) => {
    // A request of this test to the same server, which is never answered.
    if (request.url === '/silent') return;
    if (request.method !== 'POST') return response.writeHead(405).end();
    const { id, method } = (await json(request)) as { id?: number; method: string };
    if (id === undefined) return response.writeHead(202).end();
    if (method === 'tools/call') {
      called.resolve();
      await mayAnswer.promise;
    }
    const answers: Readonly<Record<string, object>> = {
      initialize: {
        result: {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 's', version: '1' },
        },
      },
      'tools/call': { result: { content: [{ type: 'text', text: 'late' }] } },
    };
    const answer = answers[method] ?? { error: { code: -32_601, message: 'unknown' } };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const kind = mcpServerKind({
    stdioAllow: [],
    resolveSecret: async () => '',
    clock: systemClock,
    version: '1.0.0',
    log: pino({ enabled: false }),
  });
  const value = await kind.build(
    {
      apiVersion: 'svc/v1',
      kind: 'McpServer',
      metadata: { name: 'tools' },
      spec: { transport: 'http', url: `${origin}/mcp`, timeout: 600 },
    },
    {} as never,
  );
  t.teardown(async () => {
    await value[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });
  const call = value.use('tenant', (client) => client.callTool({ name: 'think' }));
  await Promise.race([called.promise, call]);
  await t.throwsAsync(fetch(`${origin}/silent`), { message: 'fetch failed' });
  mayAnswer.resolve();
  t.like(await call, { content: [{ text: 'late' }] });
});
