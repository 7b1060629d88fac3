import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import test from 'ava';
import { plain, startFakeProvider } from '../support/fake-provider.ts';
import { FEW_PLUGINS, startGatewayProcess, temporaryFolder } from '../support/gateway-process.ts';
import { until } from '../support/until.ts';

/**
 * A proxy of a company: it asks for a password, leads to one port of this machine whatever the host is called, and lets
 * no call to `forbidden.test` out.
 */
async function startProxy(t: ExecutionContext, port: number) {
  const asked: string[] = [];
  const sockets = new Set<net.Socket>();
  const server = http.createServer((_request, response) => void response.writeHead(405).end());
  server.on('connect', ({ url, headers }, client: net.Socket) => {
    sockets.add(client.on('error', () => {}));
    const isKnown = headers['proxy-authorization'] === `Basic ${btoa('gateway:pass:word')}`;
    asked.push(isKnown ? url! : 'without a password');
    if (!isKnown) return void client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    if (url!.startsWith('forbidden.test')) return void client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    const upstream = net.connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      client.pipe(upstream).pipe(client);
    });
    sockets.add(upstream.on('error', () => client.destroy()));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const url = `http://gateway:pass%3Aword@127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { asked, url };
}

const model = (name: string, url: string) =>
  `apiVersion: svc/v1\nkind: Model\nmetadata: { name: ${name} }\nspec: { provider: openai, model: any, base_url: '${url}' }\n`;

test('where only a proxy reaches the internet, models are called through it, and those inside are not', async (t) => {
  await using provider = await startFakeProvider(plain('Hello'));
  const proxy = await startProxy(t, provider.port);
  const folder = await temporaryFolder(t);
  await mkdir(`${folder}/agents.d`);
  await writeFile(`${folder}/agents.d/outside.yaml`, model('outside', 'http://models.test:8000/v1'));
  await writeFile(`${folder}/agents.d/forbidden.yaml`, model('forbidden', 'http://forbidden.test/v1'));
  await writeFile(`${folder}/agents.d/inside.yaml`, model('inside', provider.url));
  const gateway = await startGatewayProcess(t, folder, {
    ...FEW_PLUGINS,
    NODE_USE_ENV_PROXY: '1',
    HTTP_PROXY: proxy.url,
    NO_PROXY: 'localhost,127.0.0.1',
  });
  const chat = (name: string) =>
    gateway.request('/v1/chat/completions', {
      method: 'POST',
      body: { model: name, messages: [{ role: 'user', content: 'Hi' }] },
    });

  const together = await Promise.all([chat('outside'), chat('outside'), chat('outside')]);
  for (const { status, body } of together) t.is(status, 200, JSON.stringify(body));
  t.deepEqual(new Set(proxy.asked), new Set(['models.test:8000']));
  const calls = proxy.asked.length;
  t.is((await chat('inside')).status, 200);
  t.is(proxy.asked.length, calls);

  const refused = await chat('forbidden');
  t.is(refused.status, 502, JSON.stringify(refused.body));
  await until(() => JSON.stringify(gateway.logs()).includes('Proxy response (403)'));
  const { stdout, stderr } = await gateway.stop();
  t.notRegex(stdout + stderr, /pass(:|%3A)word/);
});
