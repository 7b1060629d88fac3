import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { startTestGateway } from '../../../testing/index.ts';
import { startFakeProvider } from '../../support/fake-provider.ts';
import { freePort } from '../../support/free-port.ts';
import { temporaryFolder } from '../../support/gateway-process.ts';
import { hasProgram, proxyClient, runProxy } from '../../support/reverse-proxy.ts';
import { until } from '../../support/until.ts';
import { read } from './deployment-files.ts';

const HAPROXY = '/usr/sbin/haproxy';

test('behind the balancer of the compose file a client that leaves before its answer begins ends the call of the model', async (t) => {
  if (!hasProgram(t, HAPROXY)) return;
  await using provider = await startFakeProvider(({ signal }) => once(signal, 'abort').then(() => {}));
  await using gateway = await startTestGateway({ env: { LLM_API_URL: provider.url, LLM_MODEL: 'fake' } });
  const folder = await temporaryFolder(t);
  const port = await freePort();
  const { host } = new URL(gateway.url);
  const here = [
    // What the compose file lets it open is more than every machine does.
    ['maxconn 10000', 'maxconn 100'],
    ['bind :8080', `bind 127.0.0.1:${port}`],
    ['server gateway-1 gateway-1:8080', `server gateway-1 ${host}`],
    ['  server gateway-2 gateway-2:8080\n', ''],
  ] as const;
  const configuration = here.reduce(
    (text, [there, instead]) => text.replace(there, instead),
    await read('scripts/deploy/haproxy.cfg'),
  );
  await writeFile(path.join(folder, 'haproxy.cfg'), configuration);
  await runProxy(t, [HAPROXY, '-db', '-f', 'haproxy.cfg'], { folder, port });
  const client = proxyClient(port);
  await until(async () => (await client.open('/health/ready')).resume().statusCode === 200);

  for (const stream of [false, true]) {
    const asked = provider.requests.length;
    const body = JSON.stringify({ model: 'default', stream, messages: [{ role: 'user', content: 'Hi' }] });
    const left = client.send('/v1/chat/completions', { token: gateway.token, body }).on('error', () => {});
    await until(() => provider.requests.length > asked);
    left.destroy();
    await until(() => provider.requests[asked]!.isAborted);
  }
  t.is(provider.requests.length, 2);
});
