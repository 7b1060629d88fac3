import test, { type ExecutionContext } from 'ava';
import { freshDatabase } from '../../support/databases.ts';
import { type GatewayProcess, startGatewayProcess, temporaryFolder } from '../../support/gateway-process.ts';
import { isWhole } from '../../support/sample.ts';
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

/** Each of two is replaced as the only one is. */
const REPLICAS = isWhole ? 2 : 1;

const CLIENTS = [
  { keepAlive: true, pause: 0 },
  ...Array.from({ length: 4 }, () => ({ keepAlive: true, pause: 50 })),
  ...Array.from({ length: 3 }, () => ({ keepAlive: false, pause: 20 })),
];
/** Answers before and after: each client has several. */
const ANSWERS = 50;

test('a rolling update under load fails no request, on kept connections neither', async (t) => {
  t.timeout(300_000);
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const start = async () =>
    startGatewayProcess(t, await temporaryFolder(t), { ...ENVIRONMENT, ...fresh.environment });
  const balancer = await startBalancer(t);
  let gateways: GatewayProcess[] = [];
  for (let replica = 0; replica < REPLICAS; replica++) gateways.push(await start());
  for (const { url } of gateways) balancer.add(url);
  await until(() => balancer.ready().length === REPLICAS, DEADLINE);
  const load = startLoad(balancer.url, await tenantKey(gateways[0]!), CLIENTS);
  t.teardown(load.stop);
  await until(() => load.answered() > ANSWERS, DEADLINE);

  for (const old of gateways) {
    const [replaced, replacement] = await replace(t, balancer, old, start);
    gateways = gateways.map((gateway) => (gateway === replaced ? replacement : gateway));
  }

  const before = load.answered();
  await until(() => load.answered() > before + ANSWERS, DEADLINE);
  await load.stop();
  t.deepEqual(load.failures, []);
  t.is(balancer.ready().length, REPLICAS);
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
