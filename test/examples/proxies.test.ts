import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { grpcClient } from '../../testing/grpc-client.ts';
import { startTestGateway, type TestGateway } from '../../testing/index.ts';
import { startFakeProvider, streamEvents } from '../support/fake-provider.ts';
import { freePort } from '../support/free-port.ts';
import { temporaryFolder } from '../support/gateway-process.ts';
import {
  CLIENT_ADDRESS,
  hasProgram,
  makeCertificate,
  proxyClient,
  runProxy,
} from '../support/reverse-proxy.ts';
import { until } from '../support/until.ts';
import { readBlocks } from './readme-blocks.ts';

const PROTOS = new URL('../../plugins/runtime/proto/', import.meta.url);
const TOOLS_PROTO = new URL('svc/tool/v1/tool.proto', PROTOS);
/** `SVC_MAX_FILE_SIZE`, and nearly `SVC_GRPC_MAX_MESSAGE`. */
const LARGEST_FILE = 32 * 1024 * 1024;
const LARGE_MESSAGE = 4_000_000;
/** Nearly all headers that the gateway takes. */
const LONG_TOKEN = 'x'.repeat(14_000);

const GUIDE = new URL('../../docs/operating.md', import.meta.url);

/** A proxy of the guide. */
interface Proxy {
  readonly title: string;
  /** Where Debian's package puts it. */
  readonly program: string;
  readonly args: readonly string[];
  /** The file of its configuration. */
  readonly file: string;
  /** Where the guide has the certificate. */
  readonly certificates: string;
  /** What the guide has for the address of the proxy, and what stands there for one that ends with the test. */
  readonly address: readonly [there: string, here: (port: number) => string];
  /** What surrounds the lines of the guide: everything that the proxy writes is in its folder. */
  readonly around: (lines: string) => string;
}

const PROXIES: readonly Proxy[] = [
  {
    title: 'nginx',
    program: '/usr/sbin/nginx',
    args: ['-p', '.', '-c', 'nginx.conf', '-e', 'stderr'],
    file: 'nginx.conf',
    certificates: '/etc/nginx',
    address: ['443', (port) => `127.0.0.1:${port}`],
    around: (server) => `
user ${userInfo().username};
worker_processes 1;
daemon off;
pid nginx.pid;
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path tmp/${name};`).join('\n  ')}
  ${server}
}
`,
  },
  {
    title: 'HAProxy',
    program: '/usr/sbin/haproxy',
    args: ['-db', '-f', 'haproxy.cfg'],
    file: 'haproxy.cfg',
    certificates: '/etc/haproxy',
    address: [':443', (port) => `127.0.0.1:${port}`],
    around: (lines) => `global\n  maxconn 100\n${lines}\n`,
  },
  {
    title: 'Caddy',
    program: '/usr/bin/caddy',
    args: ['run', '--config', 'Caddyfile'],
    file: 'Caddyfile',
    certificates: '/etc/caddy',
    address: ['gateway.example.com', (port) => `https://localhost:${port}`],
    around: (site) => `{\n  admin off\n  auto_https off\n  default_bind 127.0.0.1\n}\n${site}\n`,
  },
];

for (const proxied of PROXIES) {
  test(`a gateway behind ${proxied.title}, set up as the guide says, serves streams, large files and gRPC, and knows its clients`, async (t) => {
    if (!hasProgram(t, proxied.program)) return;
    const heard = Promise.withResolvers<void>();
    const [first = '', ...rest] = streamEvents(['Hello', ' world']);
    await using provider = await startFakeProvider(
      async ({ response, write }) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        await write(first);
        await heard.promise;
        await write(rest.join(''));
        response.end();
      },
      ({ signal }) => once(signal, 'abort').then(() => {}),
    );
    await using gateway = await startTestGateway({
      env: { LLM_API_URL: provider.url, LLM_MODEL: 'fake', SVC_TRUSTED_PROXIES: '127.0.0.1' },
    });
    const { token } = gateway;
    const proxy = await startProxy(t, proxied, gateway);
    const chat = (stream: boolean) => ({
      token,
      body: JSON.stringify({ model: 'default', stream, messages: [{ role: 'user', content: 'Hi' }] }),
    });

    // The provider goes on when the client has what came before.
    const answer = await proxy.open('/v1/chat/completions', chat(true));
    const [begun] = (await once(answer, 'data')) as [Buffer];
    t.regex(begun.toString(), /"role":"assistant"/);
    heard.resolve();
    t.regex(await text(answer), /world[\s\S]*\[DONE\]/);

    const left = proxy.send('/v1/chat/completions', chat(false)).on('error', () => {});
    await until(() => provider.requests.length === 2);
    left.destroy();
    await until(() => provider.requests[1]!.isAborted);

    const file = new FormData();
    file.set('file', new Blob([Buffer.alloc(LARGEST_FILE)]), 'large');
    const form = new Response(file);
    const upload = await proxy.open('/api/v2/files', {
      token,
      type: form.headers.get('content-type')!,
      body: Buffer.from(await form.arrayBuffer()),
    });
    t.is(upload.statusCode, 201);
    upload.resume();
    t.is((await proxy.open('/v1/me', { token: LONG_TOKEN })).resume().statusCode, 401);

    // Callers on this machine need no credential for these, and clients of the proxy are none.
    t.is((await gateway.request('/api/v2/conversations', { token: null })).status, 200);
    t.is((await proxy.open('/api/v2/conversations')).resume().statusCode, 401);
    const tools = { proto: TOOLS_PROTO, includeDirs: [PROTOS], service: 'svc.tool.v1.ToolService' };
    t.is((await gateway.grpc({ ...tools, token: null }).call('ListTools')).code, 'OK');
    const { address, credentials } = proxy;
    using remote = grpcClient(address, { ...tools, token, credentials });
    t.is((await remote.call('ListTools', {}, { token: null })).code, 'UNAUTHENTICATED');
    t.is((await remote.call('ListTools')).code, 'OK');
    const large = await remote.call('GetTool', { id: 'x'.repeat(LARGE_MESSAGE) });
    t.is(large.metadata['svc-error-code'], 'request.invalid', 'the gateway has answered it, not the proxy');
    t.deepEqual(
      large.violations.map(({ field }) => field),
      ['id'],
    );

    for (const where of ['/metrics', '/api/v1/metrics', '/api/v2/metrics', '//metrics', '/%6detrics'])
      t.is((await proxy.open(where, { token })).resume().statusCode, 404, where);

    const forged = { 'x-forwarded-for': '203.0.113.9', 'user-agent': 'forger' };
    (await proxy.open('/v1/api-keys', { token, headers: forged })).resume();
    await until(async () => {
      const { body } = await gateway.request('/admin/v1/audit-logs?limit=100');
      const record = body.audit_logs.find(
        ({ user_agent: agent }: { user_agent: string }) => agent === 'forger',
      );
      return record?.source_ip === CLIENT_ADDRESS;
    });
  });
}

test('nginx asks a gateway that was away again before the next one is gone', async (t) => {
  const blocks = await guideBlocks('nginx');
  const { text: upstreams } = blocks.find(({ text }) => text.startsWith('upstream'))!;
  const [, delay] = /`SVC_STOP_DELAY=(\d+)s`/.exec(await readFile(GUIDE, 'utf8')) ?? [];
  const servers = upstreams.split('\n').filter((line) => /^ *server /.test(line));
  t.is(servers.length, 4);
  for (const line of servers) t.true(Number(/fail_timeout=(\d+)s/.exec(line)?.[1]) < Number(delay), line);
});

/** A proxy with the lines of the guide, between a client and this gateway. */
async function startProxy(t: ExecutionContext, proxy: Proxy, { url, gateway }: TestGateway) {
  const folder = await temporaryFolder(t);
  const { ca, credentials } = await makeCertificate(folder);
  await mkdir(path.join(folder, 'tmp'));
  const port = await freePort();
  const shown = await guideBlocks(proxy.title.toLowerCase());
  const { host, port: httpPort } = new URL(url);
  const here = [
    [proxy.address[0], proxy.address[1](port)],
    ['127.0.0.1:8080', host],
    ['127.0.0.1:50051', gateway.grpcAddress()!],
    ['port 8080', `port ${httpPort}`],
    [proxy.certificates, folder],
  ] as const;
  const lines = here.reduce(
    (text, [there, instead]) => text.replaceAll(there, instead),
    shown.map(({ text }) => text).join('\n'),
  );
  await writeFile(path.join(folder, proxy.file), proxy.around(lines));
  await runProxy(t, [proxy.program, ...proxy.args], { folder, port });
  return { address: `localhost:${port}`, credentials, ...proxyClient(port, ca) };
}

/** The lines that the guide has for a proxy. */
async function guideBlocks(language: string) {
  return readBlocks(await readFile(GUIDE, 'utf8')).filter((block) => block.language === language);
}
