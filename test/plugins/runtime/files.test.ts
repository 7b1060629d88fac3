import { readdir } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { TestResponse } from '../../../testing/start-test-gateway.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { connect, exchange, statusOf } from '../../support/raw-http.ts';
import { shared } from '../../support/shared.ts';
import { until } from '../../support/until.ts';
import { type RecordsGateway, startRecords } from './records-gateway.ts';

const records = shared((file) => startRecords(file));
const FILES = '/api/v2/files';
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** Sends a form; `parts` are its fields and what they hold. */
async function send(
  gateway: RecordsGateway,
  token: string | null,
  parts: readonly (readonly [string, Blob | string, string?])[],
) {
  const form = new FormData();
  for (const [name, value, filename] of parts) {
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, value, filename);
  }
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(`${gateway.url}${FILES}`, { method: 'POST', headers, body: form });
  return { status: response.status, body: (await response.json()) as TestResponse['body'] };
}

const upload = async (
  t: ExecutionContext,
  gateway: RecordsGateway,
  token: string,
  bytes: string | Uint8Array<ArrayBuffer>,
  filename = 'a.txt',
) => {
  const { status, body } = await send(gateway, token, [['file', new Blob([bytes]), filename]]);
  t.is(status, 201, JSON.stringify(body));
  return body.file;
};

const download = (
  gateway: RecordsGateway,
  token: string,
  id: string,
  headers: Record<string, string> = {},
  method = 'GET',
) =>
  fetch(`${gateway.url}${FILES}/${id}/content`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...headers },
  });

/** The contents of files in the object store of the test's gateway. */
async function contents({ folder }: RecordsGateway): Promise<readonly string[]> {
  const names = await readdir(path.join(folder, 'data', 'objects'), { recursive: true, withFileTypes: true });
  return names.filter((entry) => entry.isFile() && /files/.test(entry.parentPath)).map(({ name }) => name);
}

eachGatewayDatabase(
  test,
  'a file is uploaded, listed, read, downloaded and deleted, by its tenant alone',
  async (t, fresh) => {
    const gateway = await startRecords(t, { env: { ...fresh.environment } });
    const [one, two] = [await gateway.makeTenant(), await gateway.makeTenant()];
    const file = await upload(t, gateway, one.token, new Uint8Array(PNG), 'ümläut 日本;x.png');
    t.like(file, { filename: 'ümläut 日本;x.png', mime_type: 'image/png', size: PNG.length });
    t.deepEqual(Object.keys(file), ['id', 'filename', 'mime_type', 'size', 'created_at']);
    t.regex(file.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const second = await upload(t, gateway, one.token, 'text');
    const list = await gateway.request(`${FILES}?limit=1`, { token: one.token });
    t.deepEqual(list.body, { files: [second], total: 2, limit: 1, offset: 0 });
    t.deepEqual((await gateway.request(`${FILES}/${file.id}`, { token: one.token })).body, { file });

    const whole = await download(gateway, one.token, file.id);
    t.is(whole.status, 200);
    t.deepEqual(Buffer.from(await whole.arrayBuffer()), PNG);
    t.is(whole.headers.get('content-type'), 'image/png');
    t.is(
      whole.headers.get('content-disposition'),
      `attachment; filename="?ml?ut ??;x.png"; filename*=UTF-8''%C3%BCml%C3%A4ut%20%E6%97%A5%E6%9C%AC%3Bx.png`,
    );
    t.is(whole.headers.get('x-content-type-options'), 'nosniff');

    t.is((await gateway.request(FILES, { token: two.token })).body.total, 0);
    for (const [method, where] of [
      ['GET', ''],
      ['GET', '/content'],
      ['DELETE', ''],
    ] as const) {
      const { status, body } = await gateway.request(`${FILES}/${file.id}${where}`, {
        method,
        token: two.token,
      });
      t.deepEqual([status, body.code], [404, 'file.not-found']);
    }
    const remove = { method: 'DELETE', token: one.token };
    t.is((await gateway.request(`${FILES}/${file.id}`, remove)).status, 204);
    t.is((await gateway.request(`${FILES}/${file.id}`, remove)).status, 404);
    t.is((await download(gateway, one.token, file.id)).status, 404);
    const { objects } = gateway.services;
    await until(async () => (await objects.forTenant(one.id).list('files/')).objects.length === 1);
    t.is(await gateway.database.schemaDrift(), '');
  },
);

test('a file belongs to its user: others of the tenant do not see it, administrators do', async (t) => {
  const gateway = await records();
  const tenant = await gateway.makeTenant();
  const [ana, ben] = [await gateway.key(tenant.id), await gateway.key(tenant.id)];
  const { id } = await upload(t, gateway, ana.token, 'x');
  const seen = async (token: string, user = '') => {
    const headers = { 'x-svc-user-id': user };
    const [list, one, content] = await Promise.all(
      ['', `/${id}`, `/${id}/content`].map((where) => gateway.request(FILES + where, { token, headers })),
    );
    return [list!.body.total, one!.status, content!.status];
  };
  t.deepEqual(await seen(ana.token), [1, 200, 200]);
  t.deepEqual(await seen(ana.token, 'other'), [0, 403, 403]);
  t.deepEqual(await seen(ben.token), [0, 403, 403]);
  t.deepEqual(await seen(tenant.token), [1, 200, 200]);
  t.is((await gateway.request(`${FILES}/${id}`, { method: 'DELETE', token: ana.token })).status, 403);
  t.is((await gateway.request(`${FILES}/${id}`, { method: 'DELETE', token: null })).status, 401);

  await upload(t, gateway, ben.token, 'y');
  const ids = async (userId?: string) =>
    (await gateway.exported(tenant.id, userId)).map(({ record }) => record.id);
  t.deepEqual(await ids(ana.id), [id]);
  t.is((await ids()).length, 2);
  t.like(await gateway.erase(tenant.id, ana.id), { files: 1 });
  const { objects } = gateway.services;
  await until(async () => (await objects.forTenant(tenant.id).list('files/')).objects.length === 1);
  t.like(await gateway.erase(tenant.id), { files: 1 });
  await until(async () => (await objects.forTenant(tenant.id).list('files/')).objects.length === 0);
});

test('without a credential a local caller has files of the default tenant', async (t) => {
  const gateway = await records();
  t.is((await send(gateway, null, [['file', new Blob(['x']), 'a']])).status, 201);
  t.is((await gateway.request(FILES, { token: null })).body.total, 1);
});

test('what a file is, is seen in its bytes: markup and scripts are text', async (t) => {
  const gateway = await records();
  const { token } = await gateway.makeTenant();
  const form = async (bytes: string | Uint8Array<ArrayBuffer>, type: string) =>
    (await send(gateway, token, [['file', new Blob([bytes], { type }), 'x.html']])).body.file;
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
  for (const [bytes, type, expected] of [
    ['<html><script>alert(1)</script>', 'text/html', 'text/plain'],
    [svg, 'image/svg+xml', 'text/plain'],
    [`<?xml version="1.0"?>${svg}`, 'image/svg+xml', 'text/plain'],
    ['{"a": "ü"}', 'image/png', 'text/plain'],
    ['', 'text/html', 'text/plain'],
    [new Uint8Array([0, 1, 2, 255]), 'text/html', 'application/octet-stream'],
    [`${'x'.repeat(4099)}ü and more`, '', 'text/plain'],
    ['%PDF-1.7\n', 'text/html', 'application/pdf'],
  ] as const) {
    t.is((await form(bytes, type)).mime_type, expected, String(bytes).slice(0, 40));
  }
  const { id } = await form('<html>', 'text/html');
  const { headers } = await download(gateway, token, id);
  t.is(headers.get('content-type'), 'text/plain; charset=utf-8');
  t.regex(headers.get('content-security-policy')!, /sandbox/);
});

test('a range, its end, and what is not modified are answered as RFC 9110 says', async (t) => {
  const gateway = await records();
  const { token } = await gateway.makeTenant();
  const { id } = await upload(t, gateway, token, '0123456789');
  const etag = (await download(gateway, token, id)).headers.get('etag')!;
  const get = async (headers: Record<string, string>) => {
    const response = await download(gateway, token, id, headers);
    return [response.status, response.headers.get('content-range'), await response.text()];
  };
  t.deepEqual(await get({ range: 'bytes=2-4' }), [206, 'bytes 2-4/10', '234']);
  t.deepEqual(await get({ range: 'bytes=7-' }), [206, 'bytes 7-9/10', '789']);
  t.deepEqual(await get({ range: 'bytes=-3' }), [206, 'bytes 7-9/10', '789']);
  t.deepEqual(await get({ range: 'bytes=5-1000' }), [206, 'bytes 5-9/10', '56789']);
  t.deepEqual(await get({ range: 'bytes=0-1,4-5' }), [200, null, '0123456789']);
  t.deepEqual(await get({ range: 'pages=1' }), [200, null, '0123456789']);
  t.deepEqual(await get({ range: 'bytes=2-4', 'if-range': etag }), [206, 'bytes 2-4/10', '234']);
  t.deepEqual(await get({ range: 'bytes=2-4', 'if-range': '"other"' }), [200, null, '0123456789']);
  for (const range of ['bytes=10-', 'bytes=-0', 'bytes=99-100']) {
    const [status, contentRange, text] = await get({ range });
    t.deepEqual(
      [status, contentRange, JSON.parse(text as string).code],
      [416, 'bytes */10', 'file.range-not-satisfiable'],
    );
  }
  t.is((await get({ 'if-none-match': `"x", W/${etag}` }))[0], 304);
  t.is((await get({ 'if-none-match': '"x"' }))[0], 200);
  const head = await download(gateway, token, id, {}, 'HEAD');
  t.deepEqual(
    [head.status, head.headers.get('content-length'), head.headers.get('accept-ranges'), await head.text()],
    [200, '10', 'bytes', ''],
  );
  const { id: empty } = await upload(t, gateway, token, '');
  t.deepEqual(
    [
      (await download(gateway, token, empty)).status,
      (await download(gateway, token, empty, { range: 'bytes=0-' })).status,
    ],
    [200, 416],
  );
});

test('a form that is not one file is refused, and nothing of it stays', async (t) => {
  const gateway = await startRecords(t, { env: { SVC_MAX_FILE_SIZE: '10KiB' } });
  const { token } = await gateway.makeTenant();
  const one = ['file', new Blob(['x']), 'a'] as const;
  const post = (body: string, type: string) =>
    gateway.request(FILES, { method: 'POST', token, headers: { 'content-type': type }, body });
  const part = (text: string) =>
    `--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n${text}`;
  const unnamed = (filename: string) =>
    `--b\r\ncontent-disposition: form-data; name="file"${filename}\r\ncontent-type: application/octet-stream\r\n\r\n\r\n--b--`;
  const form = 'multipart/form-data; boundary=b';
  const large = new Blob(['x'.repeat(10 * 1024 + 1)]);
  const answers = {
    none: await send(gateway, token, [['other', 'x']]),
    text: await send(gateway, token, [['file', 'x']]),
    unchosen: await post(unnamed('; filename=""'), form),
    unnamed: await post(unnamed(''), form),
    called: await send(gateway, token, [['document', new Blob(['x']), 'a']]),
    two: await send(gateway, token, [one, one]),
    twoNames: await send(gateway, token, [one, ['document', new Blob(['x']), 'a']]),
    parts: await send(gateway, token, [one, ...Array.from({ length: 20 }, () => ['a', 'b'] as const)]),
    large: await send(gateway, token, [['file', large, 'a']]),
    body: await send(gateway, token, [['file', new Blob(['x'.repeat(300 * 1024)]), 'a']]),
    open: await post(part('and no end'), form),
    empty: await post('', form),
    header: await post(`--b\r\nx-a: ${'x'.repeat(200_000)}`, form),
    noBoundary: await post(part('x\r\n--b--'), 'multipart/form-data'),
    json: await gateway.request(FILES, { method: 'POST', token, body: { file: 'x' } }),
  };
  t.deepEqual(
    Object.fromEntries(
      Object.entries(answers).map(([name, { status, body }]) => [name, `${status} ${body.code}`]),
    ),
    {
      none: '400 file.missing',
      text: '400 file.missing',
      unchosen: '400 file.missing',
      unnamed: '400 file.missing',
      called: '400 file.missing',
      two: '400 file.unexpected-part',
      twoNames: '400 file.missing',
      parts: '400 file.unexpected-part',
      large: '413 file.too-large',
      body: '413 request.too-large',
      open: '400 file.malformed-form',
      empty: '400 request.invalid',
      header: '400 file.malformed-form',
      noBoundary: '400 file.malformed-form',
      json: '415 request.unsupported-media',
    },
  );
  t.is(answers.none.body.errors[0].pointer, '/body/file');
  t.is(
    (
      await send(gateway, token, [
        ['purpose', 'x'],
        ['file', new Blob(['x'.repeat(10 * 1024)]), 'a'],
      ])
    ).status,
    201,
  );
  t.is((await gateway.request(FILES, { token })).body.total, 1);
  t.is((await contents(gateway)).length, 1);
});

test('an upload that is broken off leaves nothing, and one without a known length is bounded, too', async (t) => {
  const gateway = await startRecords(t, { env: { SVC_MAX_FILE_SIZE: '1MiB' } });
  const { token } = await gateway.makeTenant();
  const head = (length: string) =>
    `POST ${FILES} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: multipart/form-data; boundary=b\r\n${length}\r\n\r\n`;
  const part = '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n';
  const connection = await connect(gateway.url);
  connection.write(`${head('content-length: 500000')}${part}${'x'.repeat(200_000)}`);
  const temporary = path.join(gateway.folder, 'data', 'objects', 'tmp');
  await until(async () => (await readdir(temporary)).length > 0);
  connection.destroy();
  await until(async () => (await readdir(temporary)).length === 0);
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const body = [part, ...Array.from({ length: 6 }, () => 'x'.repeat(200_000)), '\r\n--b--\r\n', ''];
  const chunked = head('transfer-encoding: chunked\r\nconnection: close');
  const answer = await exchange(gateway.url, chunked + body.map(chunk).join(''));
  t.is(statusOf(answer), 413);
  t.is((await gateway.request(FILES, { token })).body.total, 0);
  t.deepEqual(await contents(gateway), []);
});

test('without object storage an upload is 503', async (t) => {
  const gateway = await startRecords(t, { env: { OBJECT_STORE_URL: 'none' } });
  const { token } = await gateway.makeTenant();
  const { status, body } = await send(gateway, token, [['file', new Blob(['x']), 'a']]);
  t.deepEqual([status, body.code], [503, 'objects.unavailable']);
});

test('the document of the API describes the form', async (t) => {
  const gateway = await records();
  const { post } = gateway.services.openapi().paths[FILES]!;
  const schema = { properties: { file: { type: 'string', format: 'binary' } }, required: ['file'] };
  t.like(post, { requestBody: { content: { 'multipart/form-data': { schema } } } });
});
