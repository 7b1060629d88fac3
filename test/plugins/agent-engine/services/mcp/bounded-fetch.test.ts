import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { boundedFetch } from '../../../../../plugins/agent-engine/services/mcp/bounded-fetch.ts';

const MOST = 1_000;

/** What is read of an answer of these pieces, each written by itself. */
async function read(t: ExecutionContext, type: string, pieces: readonly string[], status = 200) {
  const server = http.createServer(async (_, response) => {
    response.writeHead(status, { 'content-type': type, 'mcp-session-id': 's' });
    for (const piece of pieces) {
      response.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const response = await boundedFetch(MOST, () => {})(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
  );
  t.deepEqual([response.status, response.headers.get('mcp-session-id')], [status, 's']);
  return response.text();
}

const tooLong = { message: 'The MCP server sent a message of more than 1000 bytes.' };
const event = (length: number, end = '\n') => `data: ${'x'.repeat(length)}${end}${end}`;

test('an answer that is too long fails, also that of an error', async (t) => {
  const pieces = Array.from({ length: 10 }, () => 'x'.repeat(100));
  t.is((await read(t, 'application/json', pieces)).length, 1_000);
  await t.throwsAsync(read(t, 'application/json', [...pieces, 'x']), tooLong);
  await t.throwsAsync(read(t, 'text/plain', [...pieces, 'x'], 500), tooLong);
});

for (const [name, end] of [
  ['LF', '\n'],
  ['CR LF', '\r\n'],
  ['CR', '\r'],
] as const) {
  test(`a stream of events may be of any length, but not one of its events: lines end with ${name}`, async (t) => {
    const events = Array.from({ length: 20 }, () => event(400, end));
    t.is(await read(t, 'text/event-stream; charset=utf-8', events), events.join(''));
    // Each end lies in two pieces.
    const halves = events.join('').match(/.{1,405}/gs)!;
    t.is(await read(t, 'text/event-stream', halves), events.join(''));
    const long = ['data: ', ...Array.from({ length: 11 }, () => 'x'.repeat(100))];
    await t.throwsAsync(read(t, 'text/event-stream', [...events, ...long]), tooLong);
  });
}
