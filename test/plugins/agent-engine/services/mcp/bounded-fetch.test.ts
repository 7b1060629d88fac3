import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { outbound } from '../../../../../foundation/http/outbound.ts';
import { boundedFetch } from '../../../../../plugins/agent-engine/services/mcp/bounded-fetch.ts';

const MOST = 1_000;

/** What is read of an answer of these pieces, each written by itself, and for how long the reader made it wait. */
async function readPaced(t: ExecutionContext, type: string, pieces: readonly string[], status = 200) {
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
  // Time passes in pauses alone.
  let now = 0;
  const wait = async (ms: number) => {
    now += ms;
  };
  const pool = outbound({ connections: 1, connectMs: 10_000 });
  t.teardown(pool.destroy);
  const clock = { monotonic: () => now };
  const { connect } = pool;
  const limited = boundedFetch({ maxBytes: MOST, onTooLong: () => {}, clock, connect, wait });
  const response = await limited(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  t.deepEqual([response.status, response.headers.get('mcp-session-id')], [status, 's']);
  return { text: await response.text(), waited: now };
}

const read = async (...given: Parameters<typeof readPaced>) => (await readPaced(...given)).text;

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

test('a stream that floods is read at a pace, and whole; an answer never waits', async (t) => {
  const flood = Array.from({ length: 10 }, () => 'data: 1\n\n'.repeat(1_000));
  const read = await readPaced(t, 'text/event-stream', flood);
  t.is(read.text, flood.join(''));
  // 10,000 events, and their bytes, of which 4,000 are free: 500 in each second.
  t.is(Math.round(read.waited / 1000), 12);
  const few = await readPaced(t, 'text/event-stream', flood.slice(0, 3));
  t.is(few.waited, 0);
  t.is((await readPaced(t, 'application/json', ['\n\n'.repeat(500)])).waited, 0);
});
