import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { userInfo } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { ChannelCredentials } from '@grpc/grpc-js';
import test, { type ExecutionContext } from 'ava';
import { generate } from 'selfsigned';
import { grpcClient } from '../../testing/grpc-client.ts';
import { startTestGateway, type TestGateway } from '../../testing/index.ts';
import { startFakeProvider, streamEvents } from '../support/fake-provider.ts';
import { freePort } from '../support/free-port.ts';
import { temporaryFolder } from '../support/gateway-process.ts';
import { skip } from '../support/services.ts';
import { until } from '../support/until.ts';
import { readBlocks } from './readme-blocks.ts';

/** Debian's package `nginx`. */
const NGINX = '/usr/sbin/nginx';
const PROTOS = new URL('../../plugins/runtime/proto/', import.meta.url);
const TOOLS_PROTO = new URL('svc/tool/v1/tool.proto', PROTOS);
/** `SVC_MAX_FILE_SIZE`, and nearly `SVC_GRPC_MAX_MESSAGE`. */
const LARGEST_FILE = 32 * 1024 * 1024;
const LARGE_MESSAGE = 4_000_000;
/** Not the proxy's own, so that the two can be told apart. */
const CLIENT_ADDRESS = '127.0.0.2';

test('a gateway behind nginx, set up as the guide says, serves streams, large files and gRPC, and knows its clients', async (t) => {
  if (!isInstalled(t)) return;
  const heard = Promise.withResolvers<void>();
  const [first = '', ...rest] = streamEvents(['Hello', ' world']);
  await using provider = await startFakeProvider(async ({ response, write }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    await write(first);
    await heard.promise;
    await write(rest.join(''));
    response.end();
  });
  await using gateway = await startTestGateway({
    env: { LLM_API_URL: provider.url, LLM_MODEL: 'fake', SVC_TRUSTED_PROXIES: '127.0.0.1' },
  });
  const proxy = await startNginx(t, gateway);

  // The provider goes on when the client has what came before.
  const chat = await proxy.open('/v1/chat/completions', {
    token: gateway.token,
    body: JSON.stringify({ model: 'default', stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
  });
  const [begun] = (await once(chat, 'data')) as [Buffer];
  t.regex(begun.toString(), /"role":"assistant"/);
  heard.resolve();
  t.regex(await text(chat), /world[\s\S]*\[DONE\]/);

  const file = new FormData();
  file.set('file', new Blob([Buffer.alloc(LARGEST_FILE)]), 'large');
  const form = new Response(file);
  const upload = await proxy.open('/api/v2/files', {
    token: gateway.token,
    type: form.headers.get('content-type')!,
    body: Buffer.from(await form.arrayBuffer()),
  });
  t.is(upload.statusCode, 201);
  upload.resume();

  // Callers on this machine need no credential for these, and clients of the proxy are none.
  t.is((await gateway.request('/api/v2/conversations', { token: null })).status, 200);
  t.is((await proxy.open('/api/v2/conversations')).resume().statusCode, 401);
  const tools = { proto: TOOLS_PROTO, includeDirs: [PROTOS], service: 'svc.tool.v1.ToolService' };
  t.is((await gateway.grpc({ ...tools, token: null }).call('ListTools')).code, 'OK');
  const { address, credentials } = proxy;
  using remote = grpcClient(address, { ...tools, token: gateway.token, credentials });
  t.is((await remote.call('ListTools', {}, { token: null })).code, 'UNAUTHENTICATED');
  t.is((await remote.call('ListTools')).code, 'OK');
  const large = await remote.call('GetTool', { id: 'x'.repeat(LARGE_MESSAGE) });
  t.truthy(large.metadata['svc-error-code'], 'the gateway has answered it, not nginx');

  for (const where of ['/metrics', '/api/v1/metrics', '/api/v2/metrics', '//metrics', '/%6detrics'])
    t.is((await proxy.open(where, { token: gateway.token })).resume().statusCode, 404, where);

  const forged = { 'x-forwarded-for': '203.0.113.9', 'user-agent': 'forger' };
  (await proxy.open('/v1/api-keys', { token: gateway.token, headers: forged })).resume();
  await until(async () => {
    const { body } = await gateway.request('/admin/v1/audit-logs?limit=100');
    const record = body.audit_logs.find(
      ({ user_agent: agent }: { user_agent: string }) => agent === 'forger',
    );
    return record?.source_ip === CLIENT_ADDRESS;
  });
});

function isInstalled(t: ExecutionContext): boolean {
  if (existsSync(NGINX)) return true;
  skip(t, `nginx is not at ${NGINX}`);
  return false;
}

interface ProxyRequest {
  readonly token?: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** With one it is a POST. */
  readonly body?: string | Buffer;
}

/** nginx with the lines of the guide, between a client and this gateway. */
async function startNginx(t: ExecutionContext, gateway: TestGateway) {
  const folder = await temporaryFolder(t);
  const certificate = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] },
    ],
  });
  await writeFile(path.join(folder, 'gateway.crt'), certificate.cert);
  await writeFile(path.join(folder, 'gateway.key'), certificate.private);
  await mkdir(path.join(folder, 'tmp'));
  const port = await freePort();
  const shown = readBlocks(await readFile(new URL('../../docs/operating.md', import.meta.url), 'utf8'));
  const here = [
    ['443', `127.0.0.1:${port}`],
    ['127.0.0.1:8080', new URL(gateway.url).host],
    ['127.0.0.1:50051', gateway.gateway.grpcAddress()!],
    ['/etc/nginx', folder],
  ] as const;
  const server = here.reduce(
    (lines, [there, instead]) => lines.replaceAll(there, instead),
    shown.find(({ language }) => language === 'nginx')!.text,
  );
  await writeFile(path.join(folder, 'nginx.conf'), configuration(server));
  const nginx = spawn(NGINX, ['-p', folder, '-c', 'nginx.conf', '-e', 'stderr']);
  t.teardown(() => stopped(nginx));
  const errors: string[] = [];
  nginx.stderr.on('data', (bytes: Buffer) => errors.push(bytes.toString()));
  const ended = once(nginx, 'exit').then(() => {
    throw new Error(`nginx has ended: ${errors.join('')}`);
  });
  ended.catch(() => {});
  await Promise.race([ended, until(() => accepts(port))]);
  return {
    address: `localhost:${port}`,
    credentials: ChannelCredentials.createSsl(Buffer.from(certificate.cert)),
    async open(where: string, { token, type = 'application/json', headers, body }: ProxyRequest = {}) {
      const request = https.request({
        host: '127.0.0.1',
        port,
        localAddress: CLIENT_ADDRESS,
        servername: 'localhost',
        ca: certificate.cert,
        agent: false,
        method: body === undefined ? 'GET' : 'POST',
        path: where,
        headers: {
          host: 'localhost',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': type }),
          ...headers,
        },
      });
      request.end(body);
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      return response;
    },
  };
}

/** What surrounds the lines of the guide: everything that nginx writes is in its folder. */
function configuration(server: string): string {
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
user ${userInfo().username};
worker_processes 1;
daemon off;
pid nginx.pid;
events {}
http {
  access_log off;
  ${folders.map((name) => `${name}_temp_path tmp/${name};`).join('\n  ')}
  ${server}
}
`;
}

async function accepts(port: number): Promise<boolean> {
  const socket = net.connect(port, '127.0.0.1');
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isOpen;
}

async function stopped(nginx: ChildProcess): Promise<void> {
  if (nginx.exitCode !== null || !nginx.kill('SIGTERM')) return;
  await once(nginx, 'exit');
}
