import test, { type ExecutionContext } from 'ava';
import { freshDatabase } from '../../support/databases.ts';
import { type GatewayProcess, startGatewayProcess, temporaryFolder } from '../../support/gateway-process.ts';
import { until } from '../../support/until.ts';
import { type Balancer, startBalancer } from './balancer.ts';
import { startLoad } from './load.ts';

/** What the deployment files set, shorter. */
const ENVIRONMENT = {
  SVC_GRPC_ADDR: '127.0.0.1:0',
  SVC_STOP_DELAY: '3s',
  SVC_USER_RATE_LIMIT_RPM: '1000000',
  LOG_LEVEL: 'info',
};
const DEADLINE = 60_000;

const CLIENTS = [
  ...Array.from({ length: 2 }, () => ({ keepAlive: true, pause: 0 })),
  ...Array.from({ length: 6 }, () => ({ keepAlive: true, pause: 50 })),
  ...Array.from({ length: 4 }, () => ({ keepAlive: false, pause: 20 })),
];

test('a rolling update under load fails no request, on kept connections neither', async (t) => {
  t.timeout(300_000);
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const start = async () =>
    startGatewayProcess(t, await temporaryFolder(t), { ...ENVIRONMENT, ...fresh.environment });
  const balancer = await startBalancer(t);
  let gateways = [await start(), await start()];
  for (const { url } of gateways) balancer.add(url);
  await until(() => balancer.ready().length === 2, DEADLINE);
  const load = startLoad(balancer.url, await tenantKey(gateways[0]!), CLIENTS);
  t.teardown(load.stop);
  await until(() => load.answered() > 100, DEADLINE);

  for (const old of gateways) {
    const [replaced, replacement] = await replace(t, balancer, old, start);
    gateways = gateways.map((gateway) => (gateway === replaced ? replacement : gateway));
  }

  const before = load.answered();
  await until(() => load.answered() > before + 100, DEADLINE);
  await load.stop();
  t.deepEqual(load.failures, []);
  t.is(balancer.ready().length, 2);
  for (const gateway of gateways) t.is((await gateway.stop()).code, 0);
});

/** As a Deployment with `maxSurge: 1, maxUnavailable: 0` does it. */
async function replace(
  t: ExecutionContext,
  balancer: Balancer,
  old: GatewayProcess,
  start: () => Promise<GatewayProcess>,
): Promise<readonly [GatewayProcess, GatewayProcess]> {
  const replacement = await start();
  balancer.add(replacement.url);
  await until(() => balancer.ready().includes(replacement.url), DEADLINE);
  const { code, stdout } = await old.stop();
  t.is(code, 0);
  t.notRegex(stdout, /"level":"(error|fatal)"/);
  await until(() => !balancer.ready().includes(old.url), DEADLINE);
  return [old, replacement];
}

/** A key of a tenant that may ask as often as it likes. */
async function tenantKey(gateway: GatewayProcess): Promise<string> {
  const made = async (path: string, body: unknown) =>
    (await gateway.request(path, { method: 'POST', body })).body;
  const { id } = await made('/v1/tenants', { name: 'Load', plan: 'enterprise', rate_limit_rpm: 1_000_000 });
  const { key } = await made('/v1/api-keys', { tenant_id: id, name: 'load', roles: ['user'] });
  return key;
}
