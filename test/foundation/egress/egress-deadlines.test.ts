import net from 'node:net';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { until } from '../../support/until.ts';
import { listen, openTestEgress, startServer, TENANT, textOf } from './kit.ts';

const PATIENCE = 15_000;

test('a name that is not resolved in time is a timeout', async (t) => {
  const { egress, observed } = await openTestEgress(t, {
    resolve: () => new Promise(() => {}),
    bounds: { dnsTimeout: 50 },
  });
  await t.throwsAsync(egress.request(TENANT, { url: 'http://slow.example.com/' }), {
    code: 'egress.timeout',
    message: /slow\.example\.com was not resolved/,
  });
  await t.throwsAsync(egress.check(TENANT, 'http://slow.example.com/'), { code: 'egress.timeout' });
  t.deepEqual(observed, ['timeout']);
});

test('the deadline of the request also ends the wait for a name', async (t) => {
  const { egress } = await openTestEgress(t, { resolve: () => new Promise(() => {}) });
  await t.throwsAsync(egress.request(TENANT, { url: 'http://slow.example.com/', timeout: 50 }), {
    code: 'egress.timeout',
    message: /longer than 0\.05 s/,
  });
});

test('a TLS handshake that does not end is a timeout of the connection', async (t) => {
  const { port } = await listen(t, net.createServer());
  const { egress } = await openTestEgress(t, { bounds: { connectTimeout: 100 } });
  await t.throwsAsync(egress.request(TENANT, { url: `https://127.0.0.1:${port}/` }), {
    code: 'egress.timeout',
    message: /did not accept a connection in time/,
  });
});

test('a head that does not come is a timeout, and so is one that comes in drops', async (t) => {
  const silent = await startServer(t, () => {});
  const { port } = await listen(
    t,
    net.createServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const drops = setInterval(() => socket.write('x-drop: 1\r\n'), 20);
      socket.on('close', () => clearInterval(drops));
    }),
  );
  const { egress } = await openTestEgress(t);
  for (const at of [silent.port, port]) {
    await t.throwsAsync(egress.request(TENANT, { url: `http://127.0.0.1:${at}/`, timeout: 1500 }), {
      code: 'egress.timeout',
    });
  }
  await until(() => silent.sockets[0]?.destroyed === true, PATIENCE);
});

test('interim answers are passed over, but not without end', async (t) => {
  const interim = 'HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n';
  const few = await listen(
    t,
    net.createServer((socket) => {
      socket.write(`${interim.repeat(20)}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`);
    }),
  );
  let isClosed = false;
  const endless = await listen(
    t,
    net.createServer((socket) => {
      const flood = setInterval(() => socket.write(interim.repeat(100)), 5);
      socket.on('error', () => {});
      socket.on('close', () => {
        clearInterval(flood);
        isClosed = true;
      });
    }),
  );
  const { egress } = await openTestEgress(t);
  t.is(await textOf(await egress.request(TENANT, { url: `http://127.0.0.1:${few.port}/` })), 'ok');
  await t.throwsAsync(egress.request(TENANT, { url: `http://127.0.0.1:${endless.port}/` }), {
    code: 'egress.unreachable',
    message: /interim answers without end/,
  });
  await until(() => isClosed, PATIENCE);
});

test('the deadline counts for the body as well, however steadily it drips', async (t) => {
  const server = await startServer(t, (_request, response) => {
    const drops = setInterval(() => response.write('x'), 20);
    response.on('close', () => clearInterval(drops));
  });
  const { egress } = await openTestEgress(t);
  const response = await egress.request(TENANT, { url: `http://127.0.0.1:${server.port}/`, timeout: 3000 });
  await t.throwsAsync(textOf(response), { code: 'egress.timeout' });
  await until(() => server.sockets[0]?.destroyed === true, PATIENCE);
});

test('redirects share one deadline', async (t) => {
  const server = await startServer(t, (_request, response) => {
    const timer = setTimeout(() => response.writeHead(302, { location: '/' }).end(), 60);
    response.on('close', () => clearTimeout(timer));
  });
  const { egress } = await openTestEgress(t);
  const url = `http://127.0.0.1:${server.port}/`;
  await t.throwsAsync(egress.request(TENANT, { url, timeout: 250, redirects: 1000 }), {
    code: 'egress.timeout',
  });
});

test('with a body timeout a stream may last, but not be silent', async (t) => {
  const server = await startServer(t, (request, response) => {
    let count = 0;
    const drops = setInterval(() => {
      count += 1;
      response.write('x');
      if (count < 10) return;
      clearInterval(drops);
      if (request.url === '/ends') response.end();
    }, 400);
    response.on('close', () => clearInterval(drops));
  });
  const { egress } = await openTestEgress(t);
  // The deadline is the head's; the drops are much quicker than the silence that is allowed.
  const get = (path: string, bodyTimeout: number) =>
    egress.request(TENANT, { url: `http://127.0.0.1:${server.port}${path}`, timeout: 3000, bodyTimeout });
  t.is(await textOf(await get('/ends', 10_000)), 'x'.repeat(10));
  const silent = await get('/silent', 2500);
  await t.throwsAsync(text(silent.body), { code: 'egress.timeout', message: /sent nothing for 2\.5 s/ });
});

test('the silence of a reader is not the silence of the server', async (t) => {
  const server = await startServer(t, (_request, response) => response.end('x'.repeat(400_000)));
  const { egress } = await openTestEgress(t);
  const response = await egress.request(TENANT, {
    url: `http://127.0.0.1:${server.port}/`,
    bodyTimeout: 1200,
  });
  const since = performance.now();
  await until(() => performance.now() - since > 3000, PATIENCE);
  t.is((await textOf(response)).length, 400_000);
});

test('the caller can hang up at every moment, and gets his own reason', async (t) => {
  const reason = new Error('hung up');
  const server = await startServer(t, (request, response) => {
    if (request.url === '/body') response.write('x');
  });
  const { egress, observed } = await openTestEgress(t, { resolve: () => new Promise(() => {}) });
  const at = `http://127.0.0.1:${server.port}`;
  const before = egress.request(TENANT, { url: at, signal: AbortSignal.abort(reason) });
  t.is(await t.throwsAsync(before), reason);
  t.is(server.requests.length, 0);

  const resolving = new AbortController();
  const named = egress.request(TENANT, { url: 'http://slow.example.com/', signal: resolving.signal });
  resolving.abort(reason);
  t.is(await t.throwsAsync(named), reason);

  const waiting = new AbortController();
  const headless = egress.request(TENANT, { url: at, signal: waiting.signal });
  headless.catch(() => {});
  await until(() => server.requests.length === 1, PATIENCE);
  waiting.abort(reason);
  t.is(await t.throwsAsync(headless), reason);

  const reading = new AbortController();
  const { body } = await egress.request(TENANT, { url: `${at}/body`, signal: reading.signal });
  reading.abort(reason);
  t.is(await t.throwsAsync(text(body)), reason);
  await until(() => server.sockets.every(({ destroyed }) => destroyed), PATIENCE);
  t.deepEqual(observed, ['aborted', 'aborted', 'aborted', 'answered']);
});
