import { mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import test from 'ava';
import pages from '../../../plugins/pages/plugin.ts';
import { pluginConformance, startTestGateway } from '../../../testing/index.ts';
import { runGatewayProcess, temporaryFolder } from '../../support/gateway-process.ts';
import { until } from '../../support/until.ts';
import { startSite } from './pages-gateway.ts';

const INDEX = '<!doctype html><title>Home</title><script src="/static/app.js"></script>';
const SCRIPT = `console.log(${JSON.stringify('word '.repeat(1000))});`;

for (const { title, run } of pluginConformance(pages)) {
  test.serial(`without a folder: ${title}`, async (t) => {
    await t.notThrowsAsync(run);
  });
}

test('without a folder nothing is registered, and the paths are not there', async (t) => {
  const gateway = await startTestGateway({ plugins: [pages] });
  t.teardown(gateway.stop);
  t.deepEqual(gateway.gateway.host.slots.find('pages')?.current?.effects.routes, []);
  for (const where of ['/', '/admin.html', '/static/app.js'])
    t.like(await gateway.request(where), { status: 404, body: { code: 'path.not-found' } });
});

test('a folder that is not there stops the start and is named', async (t) => {
  const { code, stderr } = await runGatewayProcess(t, await temporaryFolder(t), {
    SAAS_STATIC_DIR: 'no/such/folder',
  });
  t.is(code, 1);
  t.regex(stderr, /SAAS_STATIC_DIR: no\/such\/folder is not a folder/);
});

test('the pages and their files are served to everybody, with type, validators and security headers', async (t) => {
  const { get, gateway } = await startSite(t, {
    'index.html': INDEX,
    'admin.html': '<p>Administration',
    'static/app.js': SCRIPT,
    'static/deep/er/logo.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
    'static/data.bin7': 'raw',
  });
  const home = await get('/');
  t.is(home.status, 200);
  t.is(home.bytes.toString(), INDEX);
  t.like(home.headers, {
    'content-type': 'text/html; charset=utf-8',
    'content-length': String(INDEX.length),
    'cache-control': 'no-cache',
    'accept-ranges': 'bytes',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    vary: 'Accept-Encoding',
  });
  t.regex(home.headers.etag!, /^"[\w-]{43}"$/);
  t.regex(home.headers['content-security-policy']!, /default-src 'self'.*frame-ancestors 'none'/);
  t.notRegex(home.headers['content-security-policy']!, /unsafe/);
  t.is((await get('/admin.html')).bytes.toString(), '<p>Administration');
  t.is((await get('/static/app.js')).headers['content-type'], 'text/javascript; charset=utf-8');
  t.is((await get('/static/deep/er/logo.svg')).headers['content-type'], 'image/svg+xml; charset=utf-8');
  t.is((await get('/static/data.bin7')).headers['content-type'], 'application/octet-stream');
  const { body: document } = await gateway.request('/v1/openapi').catch(() => ({ body: undefined }));
  t.is(document?.openapi, undefined, 'no plugin serves the document here');
});

test('what is named by its content is kept for a year, all else is asked for', async (t) => {
  const { get } = await startSite(t, { 'static/app-BxT3kZ9q.js': '1', 'static/app.js': '1' });
  t.is(
    (await get('/static/app-BxT3kZ9q.js')).headers['cache-control'],
    'public, max-age=31536000, immutable',
  );
  t.is((await get('/static/app.js')).headers['cache-control'], 'no-cache');
});

test('a client that has the file gets 304, until a byte of it is another one', async (t) => {
  const { get, save } = await startSite(t, { 'index.html': INDEX });
  const first = await get('/');
  const etag = first.headers.etag!;
  const again = await get('/', { 'if-none-match': etag });
  t.is(again.status, 304);
  t.is(again.bytes.length, 0);
  t.like(again.headers, { etag, 'cache-control': 'no-cache', vary: 'Accept-Encoding' });
  t.is((await get('/', { 'if-modified-since': first.headers['last-modified']! })).status, 304);
  t.is((await get('/', { 'if-match': '"other"' })).status, 412);

  // As long, and of the same time: what a build that sets all times to one makes.
  const changed = INDEX.replace('Home', 'Hone');
  const file = await save('index.html', changed);
  const at = new Date(first.headers['last-modified']!);
  await utimes(file, at, at);
  const other = await get('/', { 'if-none-match': etag });
  t.is(other.status, 200);
  t.is(other.bytes.toString(), changed);
  t.not(other.headers.etag, etag);
});

test('a part of a file is sent alone, and only of the file that the client knows', async (t) => {
  const { get } = await startSite(t, { 'static/film.mp4': '0123456789' });
  const { etag } = (await get('/static/film.mp4')).headers;
  const part = await get('/static/film.mp4', { range: 'bytes=2-4' });
  t.is(part.status, 206);
  t.is(part.bytes.toString(), '234');
  t.like(part.headers, { 'content-range': 'bytes 2-4/10', 'content-length': '3', etag });
  t.is((await get('/static/film.mp4', { range: 'bytes=-3', 'if-range': etag! })).bytes.toString(), '789');
  t.is((await get('/static/film.mp4', { range: 'bytes=-3', 'if-range': '"other"' })).status, 200);
  for (const range of ['bytes=2-4', 'bytes=10-']) {
    const whole = await get('/static/film.mp4', { range }, 'HEAD');
    t.deepEqual([whole.status, whole.headers['content-length']], [200, '10'], 'a range is one of GET alone');
  }
  const none = await get('/static/film.mp4', { range: 'bytes=10-' });
  t.is(none.status, 416);
  t.is(none.headers['content-range'], 'bytes */10');
  t.is(JSON.parse(none.bytes.toString()).code, 'page.range-not-satisfiable');
});

test('HEAD tells what GET would, and nothing stays open', async (t) => {
  const { get, gateway } = await startSite(t, { 'index.html': INDEX, 'static/empty.txt': '' });
  const head = await get('/', {}, 'HEAD');
  t.is(head.status, 200);
  t.is(head.bytes.length, 0);
  t.is(head.headers['content-length'], String(INDEX.length));
  const empty = await get('/static/empty.txt');
  t.is(empty.status, 200);
  t.is(empty.headers['content-length'], '0');
  for (const [method, status] of [
    ['POST', 405],
    ['OPTIONS', 204],
  ] as const)
    t.is((await get('/', {}, method)).status, status);
  // `stop` fails the test where calls are still in flight.
  await gateway.stop();
});

test('a compressed file beside a file is sent in its place, while it is not older', async (t) => {
  const { get, save } = await startSite(t, { 'static/app.js': SCRIPT });
  await save('static/app.js.br', 'as brotli', 60);
  await save('static/app.js.gz', 'as gzip', 61);
  const brotli = await get('/static/app.js', { 'accept-encoding': 'gzip, br' });
  t.is(brotli.bytes.toString(), 'as brotli');
  t.like(brotli.headers, {
    'content-encoding': 'br',
    'content-type': 'text/javascript; charset=utf-8',
    vary: 'Accept-Encoding',
  });
  const plain = await get('/static/app.js');
  t.is(plain.headers['content-encoding'], undefined);
  t.not(plain.headers.etag, brotli.headers.etag);
  const part = await get('/static/app.js', { 'accept-encoding': 'br', range: 'bytes=3-8' });
  t.is(part.bytes.toString(), 'brotli');
  // Of an earlier build: the gateway compresses the file itself, as soon as it cannot change unseen any more.
  const packed = () => get('/static/app.js', { 'accept-encoding': 'gzip' });
  await until(async () => (await packed()).headers['content-encoding'] === 'gzip');
  const gzip = await packed();
  t.is(gunzipSync(gzip.bytes).toString(), SCRIPT);
});

test('what has no compressed file is compressed once, where that makes it smaller', async (t) => {
  const { get, save } = await startSite(t, {
    'static/app.js': SCRIPT,
    'static/tiny.js': '1',
    'static/photo.png': Buffer.alloc(5000),
  });
  // What was written a moment ago may change again unseen, and is sent as it is.
  const isPacked = async () =>
    (await get('/static/app.js', { 'accept-encoding': 'br' })).headers['content-encoding'] === 'br';
  await until(isPacked);
  const first = await get('/static/app.js', { 'accept-encoding': 'br' });
  t.is(brotliDecompressSync(first.bytes).toString(), SCRIPT);
  t.is(first.headers['content-length'], String(first.bytes.length));
  const { etag } = first.headers;
  t.is((await get('/static/app.js', { 'accept-encoding': 'br', 'if-none-match': etag! })).status, 304);
  t.is((await get('/static/app.js', { 'if-none-match': etag! })).status, 200, 'another content coding');
  for (const name of ['tiny.js', 'photo.png'])
    t.is((await get(`/static/${name}`, { 'accept-encoding': 'br' })).headers['content-encoding'], undefined);

  await save('static/app.js', SCRIPT.replace('word', 'cord'));
  await until(async () => {
    const { headers, bytes } = await get('/static/app.js', { 'accept-encoding': 'br' });
    return headers['content-encoding'] === 'br' && brotliDecompressSync(bytes).includes('cord');
  });
});

test('without a folder "static" the files of /static lie beside the pages', async (t) => {
  const { get, save } = await startSite(t, { 'index.html': INDEX, 'app.css': 'a{}' });
  t.is((await get('/static/app.css')).bytes.toString(), 'a{}');
  await save('static/app.css', 'b{}');
  t.is((await get('/static/app.css')).bytes.toString(), 'b{}');
  t.is((await get('/static/index.html')).status, 404);
});

test('nothing leads out of the folder, into hidden files or lists it', async (t) => {
  const { get, folder, save } = await startSite(t, {
    'index.html': INDEX,
    'static/app.js': '1',
    'static/.env': 'SECRET=1',
    'static/.git/config': 'secret',
    'static/sub/page.html': 'in a folder',
    'static/sub/index.html': 'no index',
  });
  await writeFile(path.join(folder, 'secret.txt'), 'outside');
  const www = path.join(folder, 'www');
  await symlink('../../secret.txt', path.join(www, 'static/link.txt'));
  await symlink('../..', path.join(www, 'static/up'));
  await symlink('app.js', path.join(www, 'static/alias.js'));
  await symlink('loop', path.join(www, 'static/loop'));
  for (const name of [
    '../secret.txt',
    '../../secret.txt',
    '%2e%2e/secret.txt',
    '%2e%2e%2f%2e%2e%2fsecret.txt',
    '..%2f..%2fsecret.txt',
    '..%5c..%5csecret.txt',
    '..\\..\\secret.txt',
    '%252e%252e/secret.txt',
    './app.js',
    'sub/../app.js',
    'app.js%00.txt',
    'app.js%00',
    'app.js%0a',
    '/app.js',
    'sub//page.html',
    'app.js/',
    'link.txt',
    'up/secret.txt',
    'up/www/static/app.js/../../../../secret.txt',
    'loop',
    '.env',
    '%2eenv',
    '.git/config',
    'sub',
    'sub/',
    '',
    `${'x'.repeat(300)}.js`,
    `${'d/'.repeat(400)}x.js`,
    encodeURIComponent(path.join(folder, 'secret.txt')),
    'C:%5cwindows',
  ]) {
    const { status, bytes, headers } = await get(`/static/${name}`);
    t.is(status, 404, name);
    t.is(JSON.parse(bytes.toString()).code, 'path.not-found', name);
    t.is(headers['content-type'], 'application/problem+json', name);
  }
  t.is((await get('/static/%zz')).status, 400);
  for (const where of ['/index.html', '/../secret.txt', '/static', '//', '/%2e%2e/secret.txt'])
    t.is((await get(where)).status, 404, where);
  t.is((await get('/static/alias.js')).bytes.toString(), '1', 'a link inside of the folder');
  t.is((await get('/static/sub%2Fpage.html')).bytes.toString(), 'in a folder');
  await save('static/späße.txt', 'umlauts');
  t.is((await get(`/static/${encodeURIComponent('späße.txt')}`)).bytes.toString(), 'umlauts');
});

test('a folder of links, as Kubernetes mounts one, and one that moves to the next release, are followed', async (t) => {
  const { get, folder, save } = await startSite(t, {});
  const www = path.join(folder, 'www');
  await save('..2026/index.html', 'first');
  await symlink('..2026', path.join(www, '..data'));
  await symlink('..data/index.html', path.join(www, 'index.html'));
  t.is((await get('/')).bytes.toString(), 'first');
  t.is((await get('/static/..data/index.html')).status, 404);
  await mkdir(path.join(folder, 'release-2'));
  await writeFile(path.join(folder, 'release-2/index.html'), 'second');
  await rename(www, path.join(folder, 'release-1'));
  t.is((await get('/')).status, 404);
  await symlink('release-2', www);
  t.is((await get('/')).bytes.toString(), 'second');
});

test('what appears is served, and what is deleted is not there', async (t) => {
  const { get, folder, save } = await startSite(t, { 'index.html': INDEX });
  t.is((await get('/static/late.js')).status, 404);
  const file = await save('static/late.js', '1');
  t.is((await get('/static/late.js')).status, 200);
  await rm(file);
  t.is((await get('/static/late.js')).status, 404);
  await rm(path.join(folder, 'www/index.html'));
  t.is((await get('/')).status, 404);
});

test('pages use up no window, ask for no credential and leave no audit record; what varies by origin says so', async (t) => {
  const env = { SVC_ANON_RATE_LIMIT_RPM: '2', SAAS_ALLOWED_ORIGINS: 'https://app.example' };
  const { get, gateway } = await startSite(t, { 'index.html': INDEX }, env);
  for (let i = 0; i < 5; i += 1) {
    const { status, headers } = await get('/', {
      authorization: 'Bearer wrong',
      origin: 'https://app.example',
    });
    t.is(status, 200);
    t.is(headers['x-ratelimit-limit'], undefined);
    t.is(headers.vary, 'Origin, Accept-Encoding');
  }
  const { text } = gateway.gateway.services.deployment.metrics;
  t.regex(
    await text(),
    /svc_http_requests_total\{method="GET",path="\/",status="200",tenant_id="anonymous"\} 5/,
  );
});
