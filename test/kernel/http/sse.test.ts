import http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { KernelErrors } from '../../../foundation/base/error-catalogue.ts';
import { type SseStream, SseWriter } from '../../../foundation/http/sse-writer.ts';
import { access } from '../../../kernel/api/access.ts';
import { reply } from '../../../kernel/api/reply.ts';
import { route } from '../../../kernel/api/route.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { publicRoute, testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';

function streaming(run: (stream: SseStream) => Promise<void>) {
  return testPlugin('streaming', {
    setup: (scope) => scope.route(publicRoute('/stream', () => reply.sse(run))),
  });
}

test('events are written with their name, id and every line of their data', async (t) => {
  const plugin = streaming(async (stream) => {
    await stream.send({ event: 'greeting', id: '7', data: 'one\ntwo' });
    await stream.data('{"a":1}');
    await stream.send({ event: 'in\njected', data: '' });
  });
  await using gateway = await startTestGateway({ plugins: [plugin] });
  const { status, headers, body } = await gateway.request('/stream');
  t.is(status, 200);
  t.is(headers.get('content-type'), 'text/event-stream; charset=utf-8');
  t.is(headers.get('cache-control'), 'no-cache, no-transform');
  t.truthy(headers.get('x-request-id'));
  t.is(body, 'event: greeting\nid: 7\ndata: one\ndata: two\n\ndata: {"a":1}\n\nevent: in jected\ndata: \n\n');
});

test('a failure inside a stream is an error event in the route’s dialect, then [DONE]', async (t) => {
  const failing = route({
    method: 'GET',
    path: '/stream',
    access: access.public(),
    rateLimit: 'none',
    summary: 'fails',
    errors: 'openai',
    handle: () =>
      reply.sse(async (stream) => {
        await stream.data('{}');
        throw KernelErrors.unavailable('The model is asleep');
      }),
  });
  const plugin = testPlugin('failing', { setup: (scope) => scope.route(failing) });
  await using gateway = await startTestGateway({ plugins: [plugin] });
  const { body } = await gateway.request('/stream');
  const error = {
    error: { message: 'The model is asleep', type: 'server_error', param: null, code: 'gateway.unavailable' },
  };
  t.is(body, `data: {}\n\nevent: error\ndata: ${JSON.stringify(error)}\n\ndata: [DONE]\n\n`);
});

test('a failure before the stream is an ordinary error answer', async (t) => {
  const plugin = testPlugin('failing', {
    setup: (scope) =>
      scope.route(
        publicRoute('/stream', () => {
          throw KernelErrors.unavailable();
        }),
      ),
  });
  await using gateway = await startTestGateway({ plugins: [plugin] });
  t.is((await gateway.request('/stream')).status, 503);
});

test('HEAD of a stream that does not end is answered, and leaves the connection to the next request', async (t) => {
  let runs = 0;
  const plugin = streaming(async (stream) => {
    runs += 1;
    await new Promise((resolve) => stream.signal.addEventListener('abort', resolve));
  });
  await using gateway = await startTestGateway({ plugins: [plugin] });
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const head = (): Promise<http.IncomingMessage> =>
    new Promise((resolve, reject) => {
      const request = http.request(`${gateway.url}/stream`, { method: 'HEAD', agent, timeout: 10_000 });
      request.on('timeout', () => request.destroy(new Error('the first answer has not ended')));
      request.on('response', resolve).on('error', reject).end();
    });
  for (const time of ['first', 'second']) {
    const answer = await head();
    answer.resume();
    t.is(answer.statusCode, 200, time);
    t.is(answer.headers['content-type'], 'text/event-stream; charset=utf-8', time);
  }
  t.is(runs, 0);
});

test('a client that hangs up aborts the handler', async (t) => {
  let reason: unknown;
  const plugin = streaming(async (stream) => {
    await stream.data('first');
    await new Promise<void>((resolve) => stream.signal.addEventListener('abort', () => resolve()));
    reason = stream.signal.reason;
  });
  await using gateway = await startTestGateway({ plugins: [plugin] });
  const abort = new AbortController();
  const response = await fetch(`${gateway.url}/stream`, { signal: abort.signal });
  await response.body?.getReader().read();
  abort.abort();
  await until(() => reason !== undefined);
  t.is((reason as { code?: string }).code, 'request.client-closed');
});

test('a client that does not read stops the writer, and memory does not grow', async (t) => {
  let written = 0;
  const line = 'x'.repeat(16_384);
  const plugin = streaming(async (stream) => {
    while (written < 4000) {
      await stream.data(line);
      written += 1;
    }
  });
  await using gateway = await startTestGateway({ plugins: [plugin] });
  const response = await new Promise<http.IncomingMessage>((resolve) => {
    http.get(`${gateway.url}/stream`, resolve);
  });
  response.pause();
  let last = -1;
  await until(() => {
    const isStill = written > 0 && written === last;
    last = written;
    return isStill;
  });
  t.true(written < 2000, `${written} lines were written to a client that reads nothing`);
  let received = 0;
  for await (const part of response) received += part.length;
  t.is(received, 4000 * (line.length + 8));
});

/** A response of which the test decides whether it takes data. */
function fakeResponse() {
  const response = Object.assign(new http.ServerResponse(new http.IncomingMessage(null as never)), {
    lines: [] as string[],
    writtenAt: [] as number[],
    isFull: false,
  });
  response.write = ((text: string) => {
    response.lines.push(text);
    response.writtenAt.push(performance.now());
    return !response.isFull;
  }) as typeof response.write;
  Object.defineProperty(response, 'writableNeedDrain', { get: () => response.isFull });
  return response;
}

test('silence is filled with comment lines, but not towards a client that reads nothing', async (t) => {
  const response = fakeResponse();
  const writer = new SseWriter(response, new AbortController().signal, () => {}, {
    heartbeat: 10,
    slowClient: 1000,
  });
  await until(() => response.lines.filter((line) => line === ': ping\n\n').length === 2);
  response.isFull = true;
  const before = response.lines.length;
  await new Promise((resolve) => setTimeout(resolve, 40));
  t.is(response.lines.length, before);
  await writer.end();
});

test('silence begins with the last event', async (t) => {
  const response = fakeResponse();
  const heartbeat = 200;
  const times = { heartbeat, slowClient: 1000 };
  const writer = new SseWriter(response, new AbortController().signal, () => {}, times);
  await pause(heartbeat / 2);
  void writer.data('x');
  const event = response.lines.length - 1;
  await until(() => response.lines.length > event + 1);
  await writer.end();
  t.is(response.lines[event + 1], ': ping\n\n');
  const [sent = 0, pinged = 0] = response.writtenAt.slice(event);
  // Timers are late at times, and never early by more than the millisecond to which they round.
  t.true(pinged - sent > heartbeat - 5, `silence of ${pinged - sent} ms`);
});

test('a client that takes nothing for too long is given up', async (t) => {
  const response = fakeResponse();
  response.isFull = true;
  const abort = new AbortController();
  const writer = new SseWriter(response, abort.signal, (reason) => abort.abort(reason), {
    heartbeat: 1000,
    slowClient: 20,
  });
  await t.throwsAsync(async () => writer.data('x'), { message: 'The client reads too slowly' });
  t.true(response.destroyed);
  t.true(abort.signal.aborted);
  await t.throwsAsync(async () => writer.data('y'), { message: 'The client reads too slowly' });
});
