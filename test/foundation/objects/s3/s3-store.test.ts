import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { PassThrough, pipeline, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import type { GatewayError } from '../../../../foundation/base/gateway-error.ts';
import { startS3Server, useS3Credentials } from '../../../support/s3-server.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';
import { until } from '../../../support/until.ts';
import { freshFolder, openForTest } from '../open-for-test.ts';

const MIB = 1024 * 1024;

test.before(useS3Credentials);

test('a write whose answer is lost is recognized as the own one, and not taken for another', async (t) => {
  const server = await startS3Server(t);
  const { objects } = await openForTest(t, server.url);
  const space = objects.forTenant('acme');
  await server.loseNextAnswer();
  const { etag } = await space.put('a', 'first', { ifAbsent: true });
  t.is(await space.text('a', 10), 'first');
  await server.loseNextAnswer();
  t.is((await space.put('a', 'second', { ifMatch: etag })).size, 6);
  await t.throwsAsync(space.put('a', 'third', { ifMatch: etag }), { code: 'objects.changed' });
  await t.throwsAsync(space.put('a', 'third', { ifAbsent: true }), { code: 'objects.exists' });
  t.is(await space.text('a', 10), 'second');
});

test('the end of an upload in parts whose answer is lost is recognized too', async (t) => {
  const server = await startS3Server(t);
  const { objects } = await openForTest(t, server.url);
  const space = objects.forTenant('acme');
  const parts = Array.from({ length: 6 }, (_, i) => Buffer.alloc(MIB, `${i}`));
  const body = Readable.from(
    (async function* () {
      for (const part of parts) yield part;
      // What is sent from here on is the last part and the end.
    })(),
    { objectMode: false },
  );
  await server.loseNextEnd();
  const { size } = await space.put('a', body, { ifAbsent: true });
  t.is(size, 6 * MIB);
  t.true((await buffer((await space.get('a'))!.body)).equals(Buffer.concat(parts)));
  t.is(await server.uploads(), 0);
});

test('a store that ignores conditions is asked before, which refuses what was there long ago', async (t) => {
  const server = await startS3Server(t, { ignoresConditions: true });
  const { objects } = await openForTest(t, server.url);
  const space = objects.forTenant('acme');
  const { etag } = await space.put('a', 'first', { ifAbsent: true });
  await t.throwsAsync(space.put('a', 'x', { ifAbsent: true }), { code: 'objects.exists' });
  await t.throwsAsync(space.put('a', 'x', { ifMatch: 'other' }), { code: 'objects.changed' });
  await t.throwsAsync(space.put('b', 'x', { ifMatch: etag }), { code: 'objects.changed' });
  t.is((await space.put('a', 'second', { ifMatch: etag })).size, 6);
});

test('credentials that are refused make the store unavailable, and its words stay inside', async (t) => {
  const server = await startS3Server(t);
  const script = `
    import { openForTest } from '${path.resolve(import.meta.dirname, '../open-for-test.ts')}';
    const { objects } = await openForTest({ teardown() {} }, '${server.url}');
    for (const work of [() => objects.forTenant('acme').put('a', 'x'), () => objects.check(AbortSignal.timeout(20_000))]) {
      await work().catch((error) => console.log(error.code, '|', error.detail, '|', error.cause.name === 'Error' ? error.cause.message : error.cause.name));
    }`;
  const run = async (id: string, secret: string) => {
    const env = { ...process.env, AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret };
    const args = ['--input-type=module', '-e', script];
    return (await promisify(execFile)(process.execPath, args, { env })).stdout
      .trim()
      .split('\\n')
      .join()
      .split('\n');
  };
  t.deepEqual(await run('WRONGKEY', 'wrong'), [
    'objects.unavailable | Object storage is not available | InvalidAccessKeyId',
    // An answer to HEAD has no body that could say more.
    'objects.unavailable | Object storage is not available | S3 answered 403 and no reason',
  ]);
  t.is(
    (await run('S3RVER', 'wrong'))[0],
    'objects.unavailable | Object storage is not available | SignatureDoesNotMatch',
  );
});

test('a server that answers everything with a page has stored nothing, and has no object', async (t) => {
  const page = createServer((request, response) => {
    request.resume().once('end', () => response.setHeader('content-type', 'text/html').end('<p>Log in</p>'));
  }).listen(0, '127.0.0.1');
  await once(page, 'listening');
  t.teardown(() => page.close());
  const { port } = page.address() as net.AddressInfo;
  const { objects } = await openForTest(t, `s3://objects?endpoint=http://127.0.0.1:${port}&region=eu-west-1`);
  const space = objects.forTenant('acme');
  await t.throwsAsync(space.put('a', 'first'), { code: 'objects.unavailable' });
  await t.throwsAsync(space.put('a', Readable.from([Buffer.alloc(8 * MIB)])), {
    code: 'objects.unavailable',
  });
  for (const work of [
    () => space.get('a'),
    () => space.head('a'),
    () => space.list(''),
    () => space.delete('a'),
    // An erasure that found nothing would count as done.
    () => space.deleteAll(''),
  ]) {
    await t.throwsAsync(work, { code: 'objects.unavailable' }, work.toString());
  }
});

test('a store that ignores the prefix of a list has none of its objects deleted or shown', async (t) => {
  const { space, asked } = await listing(t, ['acme/a', 'other/b'], false);
  for (const work of [() => space.list(''), () => space.deleteAll('')]) {
    const error = await t.throwsAsync<GatewayError>(work, { code: 'objects.unavailable' });
    t.regex((error!.cause as Error).message, /other than those asked for/);
  }
  t.deepEqual(
    asked.filter((request) => request.startsWith('POST')),
    [],
  );
});

/** The space of the tenant `acme` in a store that answers each request with the same list; `asked` are the methods. */
async function listing(t: ExecutionContext, keys: readonly string[], isTruncated: boolean) {
  const asked: string[] = [];
  const contents = keys.map((key) => `<Contents><Key>${key}</Key><Size>1</Size><ETag>"e"</ETag></Contents>`);
  const body = `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${contents.join('')}</ListBucketResult>`;
  const store = createServer((request, response) => {
    asked.push(request.method!);
    request.resume().once('end', () => response.setHeader('content-type', 'application/xml').end(body));
  }).listen(0, '127.0.0.1');
  await once(store, 'listening');
  t.teardown(() => store.close());
  const { port } = store.address() as net.AddressInfo;
  const { objects } = await openForTest(t, `s3://objects?endpoint=http://127.0.0.1:${port}&region=eu-west-1`);
  return { space: objects.forTenant('acme'), asked };
}

test('a store that ignores where a list goes on does not keep its readers for ever', async (t) => {
  const { space } = await listing(t, ['acme/a'], true);
  const { next } = await space.list('');
  t.truthy(next);
  const error = await t.throwsAsync<GatewayError>(space.list('', { after: next! }), {
    code: 'objects.unavailable',
  });
  t.regex((error!.cause as Error).message, /ignores StartAfter/);
});

for (const [what, status] of [
  ['a list', 200],
  ['a refusal', 403],
] as const) {
  test(`${what} that does not end is given up, and not kept in memory`, async (t) => {
    let sent = 0;
    const endless = createServer((request, response) => {
      request.resume();
      response.writeHead(status, { 'content-type': 'application/xml' });
      const key = '<Contents><Key>acme/a</Key><Size>1</Size><ETag>"e"</ETag></Contents>'.repeat(1000);
      const keys = new Readable({
        read() {
          sent += key.length;
          // Where nobody stops reading, the test ends and fails.
          this.push(sent > 64 * MIB ? null : key);
        },
      });
      pipeline(keys, response, () => {});
    }).listen(0, '127.0.0.1');
    await once(endless, 'listening');
    t.teardown(() => endless.close());
    const { port } = endless.address() as net.AddressInfo;
    const { objects } = await openForTest(
      t,
      `s3://objects?endpoint=http://127.0.0.1:${port}&region=eu-west-1`,
    );
    const error = await t.throwsAsync<GatewayError>(objects.forTenant('acme').list(''), {
      code: 'objects.unavailable',
    });
    t.regex((error!.cause as Error).message, /more than 8388608 bytes/);
  });
}

test('a missing bucket is not an empty one', async (t) => {
  const server = await startS3Server(t);
  const { objects } = await openForTest(t, server.url.replace('test-objects', 'another-bucket'));
  const space = objects.forTenant('acme');
  const refused = { code: 'objects.unavailable' };
  await t.throwsAsync(objects.check(AbortSignal.timeout(20_000)), refused);
  const error = await t.throwsAsync<GatewayError>(space.get('a'), refused);
  t.is((error!.cause as Error).name, 'NoSuchBucket');
  await t.throwsAsync(space.put('a', 'x'), refused);
  await t.throwsAsync(space.list(''), refused);
});

test('a server that has gone is unavailable after a few attempts, and back when it is back', async (t) => {
  const server = await startS3Server(t);
  const proxy = await startTcpProxy(t, server.port);
  const { objects } = await openForTest(t, server.url.replace(`:${server.port}`, `:${proxy.port}`));
  const space = objects.forTenant('acme');
  await space.put('a', 'x');
  await proxy.cut();
  const refused = { code: 'objects.unavailable' };
  await Promise.all([
    t.throwsAsync(space.get('a'), refused),
    t.throwsAsync(space.head('a'), refused),
    t.throwsAsync(space.put('a', 'y'), refused),
    t.throwsAsync(space.put('a', Readable.from([Buffer.alloc(6 * MIB)])), refused),
    t.throwsAsync(space.delete('a'), refused),
    t.throwsAsync(space.list(''), refused),
    t.throwsAsync(space.deleteAll(''), refused),
    t.throwsAsync(objects.check(AbortSignal.timeout(60_000)), refused),
  ]);
  await proxy.restore();
  t.is(await space.text('a', 10), 'x');
});

test('a body that breaks off is an error and no short object', async (t) => {
  const server = await startS3Server(t);
  const proxy = await startTcpProxy(t, server.port);
  const { objects } = await openForTest(t, server.url.replace(`:${server.port}`, `:${proxy.port}`));
  const space = objects.forTenant('acme');
  await space.put('a', Buffer.alloc(24 * MIB));
  const { body } = (await space.get('a'))!;
  const reader = body[Symbol.asyncIterator]();
  await reader.next();
  await proxy.cut();
  await t.throwsAsync(
    async () => {
      while (!(await reader.next()).done);
    },
    { code: 'objects.unavailable' },
  );
});

test('a server that does not answer is left as soon as the caller gives up', async (t) => {
  const server = await startS3Server(t);
  const { objects } = await openForTest(t, server.url);
  const space = objects.forTenant('acme');
  await space.put('a', 'x');
  server.freeze();
  const reason = new Error('no time');
  for (const attempt of [
    (signal: AbortSignal) => objects.check(signal),
    (signal: AbortSignal) => space.get('a', { signal }),
  ]) {
    const stop = new AbortController();
    const work = attempt(stop.signal);
    stop.abort(reason);
    t.is(await t.throwsAsync(work), reason);
  }
});

test('an upload that is aborted while the server does not answer is cleaned up when it does', async (t) => {
  const server = await startS3Server(t);
  const { objects } = await openForTest(t, server.url);
  const stop = new AbortController();
  const stream = new PassThrough();
  const work = objects.forTenant('acme').put('a', stream, { signal: stop.signal });
  stream.write(Buffer.alloc(6 * MIB));
  await until(async () => (await server.uploads()) === 1, 20_000);
  server.freeze();
  stream.write(Buffer.alloc(6 * MIB));
  const reason = new Error('no time');
  stop.abort(reason);
  server.thaw();
  t.is(await t.throwsAsync(work), reason);
  t.is(await server.uploads(), 0);
  t.is(await objects.forTenant('acme').head('a'), undefined);
});

test('an upload that is aborted while it begins leaves no parts that nobody knows of', async (t) => {
  const server = await startS3Server(t);
  const stop = new AbortController();
  const reason = new Error('no time');
  const port = await watchRequests(t, server.port, (text) => text.includes('?uploads') && stop.abort(reason));
  const { objects } = await openForTest(t, server.url.replace(`:${server.port}`, `:${port}`));
  const body = Readable.from(sixMib(), { objectMode: false });
  t.is(await t.throwsAsync(objects.forTenant('acme').put('a', body, { signal: stop.signal })), reason);
  t.is(await server.uploads(), 0);
});

test('parts that cannot be deleted are logged, and the refusal stays the answer', async (t) => {
  const server = await startS3Server(t);
  const proxy = await startTcpProxy(t, server.port);
  const { objects, logged } = await openForTest(t, server.url.replace(`:${server.port}`, `:${proxy.port}`));
  const body = Readable.from(
    (async function* () {
      yield* sixMib();
      yield* sixMib();
      while ((await server.uploads()) === 0) yield Buffer.alloc(MIB);
      await proxy.cut();
      throw new Error('the upload broke off');
    })(),
    { objectMode: false },
  );
  await t.throwsAsync(objects.forTenant('acme').put('a', body));
  t.deepEqual(logged, ['parts of an object that was not stored stay in the bucket']);
});

test('the SDK is loaded only where a bucket is used', async (t) => {
  const script = `
    import { createRequire } from 'node:module';
    import { openForTest } from '${path.resolve(import.meta.dirname, '../open-for-test.ts')}';
    const loaded = () => Object.keys(createRequire('/').cache).some((file) => file.includes('@aws-sdk'));
    for (const url of process.argv.slice(1)) {
      await openForTest({ teardown() {} }, url);
      console.log(loaded());
    }`;
  const urls = ['none', `file:${await freshFolder(t)}`, 's3://bucket?region=x'];
  const args = ['--input-type=module', '-e', script, ...urls];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  t.is(stdout, 'false\nfalse\ntrue\n');
});

/** A way to the server on which `see` is shown what is sent, before it goes on. */
async function watchRequests(
  t: ExecutionContext,
  target: number,
  see: (text: string) => unknown,
): Promise<number> {
  const proxy = net.createServer((client) => {
    const upstream = net.connect(target, '127.0.0.1');
    client.on('data', (bytes) => see(bytes.toString('latin1')));
    // Ends of connections are the client's and the server's business.
    pipeline(client, upstream, client, () => {});
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.teardown(() => proxy.close());
  return (proxy.address() as net.AddressInfo).port;
}

function* sixMib(): Generator<Buffer> {
  for (let i = 0; i < 6; i += 1) yield Buffer.alloc(MIB);
}

test('a store that takes connections and never answers is given up after 20 s where nothing is sent', async (t) => {
  t.timeout(60_000);
  const sockets = new Set<net.Socket>();
  const silent = net.createServer((socket) => sockets.add(socket.on('error', () => {})));
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  const { port } = silent.address() as net.AddressInfo;
  const { objects } = await openForTest(t, `s3://bucket?endpoint=http://127.0.0.1:${port}`);
  const space = objects.forTenant('acme');
  const began = performance.now();
  const uses = [space.get('a'), space.head('a'), space.delete('a'), space.put('a', 'x', { ifAbsent: true })];
  for (const end of await Promise.allSettled(uses))
    t.like(end, { status: 'rejected', reason: { code: 'objects.unavailable' } });
  t.true(performance.now() - began < 40_000);
});
