import { once } from 'node:events';
import zlib from 'node:zlib';
import test from 'ava';
import { until } from '../../support/until.ts';
import { openTestEgress, startServer, TENANT, textOf } from './kit.ts';

const PATIENCE = 15_000;
const MIB = 1_048_576;

test('gzip, deflate and br are taken off, and so are the headers that spoke of them', async (t) => {
  const coded: Readonly<Record<string, (text: string) => Buffer>> = {
    gzip: zlib.gzipSync,
    'X-GZIP': zlib.gzipSync,
    deflate: zlib.deflateSync,
    br: zlib.brotliCompressSync,
  };
  const server = await startServer(t, (request, response) => {
    const encoding = decodeURIComponent(request.url?.slice(1) ?? '');
    const encode = Object.hasOwn(coded, encoding) ? coded[encoding] : undefined;
    const body = encode?.('hello') ?? Buffer.from('as it is');
    response
      .writeHead(200, { 'content-encoding': encoding, 'content-length': body.length, 'x-kept': '1' })
      .end(body);
  });
  const { egress } = await openTestEgress(t);
  const get = (encoding: string) =>
    egress.request(TENANT, { url: `http://127.0.0.1:${server.port}/${encodeURIComponent(encoding)}` });
  for (const encoding of Object.keys(coded)) {
    const response = await get(encoding);
    t.deepEqual(
      [response.headers['content-encoding'], response.headers['content-length'], response.headers['x-kept']],
      [undefined, undefined, '1'],
    );
    t.is(await textOf(response), 'hello', encoding);
  }
  for (const encoding of ['identity', 'unknown', 'gzip, gzip', 'constructor']) {
    const response = await get(encoding);
    t.is(response.headers['content-encoding'], encoding);
    t.is(await textOf(response), 'as it is', encoding);
  }
  t.is(server.requests[0]?.headers['accept-encoding'], 'gzip, br');
});

test('answers without a body are empty, whatever their headers promise', async (t) => {
  const server = await startServer(t, (request, response) => {
    const headers = {
      'content-encoding': 'gzip',
      ...(request.url === '/0' ? { 'content-length': '0' } : {}),
    };
    if (request.method === 'HEAD')
      response.writeHead(200, { ...headers, 'content-length': String(99 * MIB) }).end();
    else response.writeHead(request.url === '/0' ? 200 : Number(request.url?.slice(1)), headers).end();
  });
  const { egress } = await openTestEgress(t);
  const at = `http://127.0.0.1:${server.port}`;
  const head = await egress.request(TENANT, { url: `${at}/`, method: 'HEAD' });
  t.is(head.headers['content-length'], String(99 * MIB));
  t.is(await textOf(head), '');
  for (const path of ['/204', '/304', '/0'])
    t.is(await textOf(await egress.request(TENANT, { url: at + path })), '', path);
});

test('a body that is declared too large is refused at once, an endless one when it is', async (t) => {
  let written = 0;
  const server = await startServer(t, (request, response) => {
    if (request.url === '/declared')
      response.writeHead(200, { 'content-length': 1001 }).end('x'.repeat(1001));
    else if (request.url === '/exact') response.end('x'.repeat(1000));
    else {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(10_000))) written += 1;
      };
      response.on('drain', more);
      more();
    }
  });
  const { egress } = await openTestEgress(t);
  const get = (path: string) =>
    egress.request(TENANT, { url: `http://127.0.0.1:${server.port}${path}`, maxBytes: 1000 });
  await t.throwsAsync(get('/declared'), { code: 'egress.response-too-large' });
  t.is((await textOf(await get('/exact'))).length, 1000);
  const endless = await get('/endless');
  await t.throwsAsync(textOf(endless), { code: 'egress.response-too-large', message: /1000 bytes/ });
  await until(() => server.sockets.at(-1)?.destroyed === true, PATIENCE);
  t.true(written < 5_000);
});

test('decoded bytes count: a small answer that becomes large is cut off', async (t) => {
  const bomb = zlib.gzipSync(Buffer.alloc(200 * MIB));
  t.true(bomb.length < MIB);
  const server = await startServer(t, (_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': bomb.length }).end(bomb);
  });
  const { egress } = await openTestEgress(t);
  const before = process.memoryUsage().rss;
  const response = await egress.request(TENANT, { url: `http://127.0.0.1:${server.port}/` });
  let bytes = 0;
  const error = await t.throwsAsync(
    async () => {
      for await (const chunk of response.body) bytes += chunk.length;
    },
    { code: 'egress.response-too-large' },
  );
  t.truthy(error);
  t.true(bytes <= 10 * MIB, `${bytes} bytes reached the reader`);
  t.true(process.memoryUsage().rss - before < 100 * MIB);
});

test('a body that breaks off or cannot be decoded is an error, not an end', async (t) => {
  const server = await startServer(t, (request, response) => {
    const coded = { 'content-encoding': 'gzip' };
    if (request.url === '/short') {
      response.writeHead(200, { 'content-length': 100 }).write('x');
      setImmediate(() => request.socket.destroy());
    } else if (request.url === '/truncated')
      response.writeHead(200, coded).end(zlib.gzipSync('hello'.repeat(100)).subarray(0, 20));
    else response.writeHead(200, coded).end('no gzip');
  });
  const { egress } = await openTestEgress(t);
  for (const path of ['/short', '/truncated', '/garbage']) {
    const response = await egress.request(TENANT, { url: `http://127.0.0.1:${server.port}${path}` });
    await t.throwsAsync(
      textOf(response),
      { code: 'egress.unreachable', message: /127\.0\.0\.1 (closed|sent a body)/ },
      path,
    );
  }
});

test('a reader who is slow slows the server, and nothing piles up here', async (t) => {
  let written = 0;
  const server = await startServer(t, (_request, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536))) written += 65_536;
    };
    response.on('drain', more);
    more();
  });
  const { egress } = await openTestEgress(t);
  const { body } = await egress.request(TENANT, { url: `http://127.0.0.1:${server.port}/`, maxBytes: 1e12 });
  await once(body, 'readable');
  let last = -1;
  await until(async () => {
    const stands = written === last;
    last = written;
    await new Promise((resolve) => setTimeout(resolve, 200));
    return stands && written === last;
  }, PATIENCE);
  t.true(written < 30 * MIB, `${written} bytes were taken from the server`);
  body.destroy();
  await until(() => server.sockets[0]?.destroyed === true, PATIENCE);
});

test('what nobody reads ends with the deadline, and does not end the process', async (t) => {
  const server = await startServer(t, (_request, response) => {
    response.write('x'.repeat(200_000));
  });
  const { egress } = await openTestEgress(t);
  const { body } = await egress.request(TENANT, { url: `http://127.0.0.1:${server.port}/`, timeout: 3000 });
  await until(() => body.destroyed && server.sockets[0]?.destroyed === true, PATIENCE);
  t.like(body.errored, { code: 'egress.timeout' });
});

test('an answer without a body need not be read', async (t) => {
  const server = await startServer(t, (_request, response) => response.writeHead(204).end());
  const { egress } = await openTestEgress(t, { bounds: { openPerTenant: 1 } });
  const url = `http://127.0.0.1:${server.port}/`;
  for (const method of ['GET', 'HEAD', 'POST', 'GET']) {
    await until(async () => {
      const response = await egress.request(TENANT, { url, method }).catch((error) => error.code);
      if (response === 'egress.busy') return false;
      t.is(response.status, 204);
      return true;
    }, PATIENCE);
  }
});
