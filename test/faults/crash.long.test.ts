import test, { type ExecutionContext } from 'ava';
import type { Family } from '../../foundation/data/family.ts';
import { gatewayDatabase } from '../support/databases.ts';
import {
  ACP_TOKEN,
  type GatewayProcess,
  startGatewayProcess,
  temporaryFolder,
} from '../support/gateway-process.ts';
import { send } from '../support/request.ts';
import { until } from '../support/until.ts';

const ROUNDS = 2;
const CLIENTS = 8;
const PLENTY = 1_000_000;
const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';

/** What the gateway has confirmed to its clients. */
class Acknowledged {
  readonly tenants: string[] = [];
  readonly keys: string[] = [];
  readonly revoked: string[] = [];
  /** Ids of all answered requests. */
  readonly requests: string[] = [];
}

/** One client that creates, reads and revokes until its gateway is gone. */
async function load(client: string, url: string, done: Acknowledged): Promise<void> {
  let sent = 0;
  const request = async (path: string, method = 'GET', body?: object) => {
    sent += 1;
    const id = `${client}.${sent}`;
    const answer = await send(`${url}${path}`, {
      method,
      token: ACP_TOKEN,
      headers: { 'x-request-id': id },
      ...(body === undefined ? {} : { body }),
    });
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.status}`);
    done.requests.push(id);
    return answer.body;
  };
  for (;;) {
    done.tenants.push((await request('/v1/tenants', 'POST', { name: client })).id);
    const { id } = await request('/v1/api-keys', 'POST', { name: client });
    done.keys.push(id);
    await request('/v1/me');
    await request(`/v1/api-keys/${id}`, 'DELETE');
    done.revoked.push(id);
  }
}

/** Every record of a list route. */
async function all(
  gateway: GatewayProcess,
  path: string,
  noun: string,
): Promise<Record<string, string | null>[]> {
  const records = [];
  for (let offset = 0; ; offset += 500) {
    const { body } = await gateway.request(`${path}?limit=500&offset=${offset}`);
    records.push(...body[noun]);
    if (body[noun].length < 500) return records;
  }
}

async function crashUnderLoad(t: ExecutionContext, family: Family): Promise<void> {
  const fresh = await gatewayDatabase(t, family);
  if (fresh === undefined) return;
  const folder = await temporaryFolder(t);
  const start = () => startGatewayProcess(t, folder, fresh.environment);
  const done = new Acknowledged();

  let gateway = await start();
  const widen = { method: 'PUT', body: { rate_limit_rpm: PLENTY } };
  t.is((await gateway.request(`/v1/tenants/${DEFAULT_TENANT}`, widen)).status, 200);
  for (let round = 0; round < ROUNDS; round += 1) {
    const clients = Array.from({ length: CLIENTS }, (_, index) =>
      t.throwsAsync(load(`round${round}.client${index}`, gateway.url, done), {
        message: /fetch failed|terminated/,
      }),
    );
    const before = done.requests.length;
    // The moment of the blow is another one in each round and on each machine.
    const enough = 100 + Math.floor(Math.random() * 200);
    await until(() => done.requests.length - before >= enough, 20_000);
    await gateway.stop('SIGKILL');
    await Promise.all(clients);
    gateway = await start();
  }

  const tenants = new Set((await all(gateway, '/v1/tenants', 'tenants')).map(({ id }) => id));
  t.deepEqual(
    done.tenants.filter((id) => !tenants.has(id)),
    [],
  );
  const keys = new Map((await all(gateway, '/v1/api-keys', 'api_keys')).map((key) => [key.id, key]));
  t.deepEqual(
    done.keys.filter((id) => !keys.has(id)),
    [],
  );
  t.deepEqual(
    done.revoked.filter((id) => keys.get(id)?.revoked_at === null),
    [],
  );
  let missing: readonly string[] = done.requests;
  await until(async () => {
    const known = new Set((await all(gateway, '/v1/audit-logs', 'audit_logs')).map((r) => r.request_id));
    missing = missing.filter((id) => !known.has(id));
    return missing.length === 0;
  }, 10_000).catch(() => t.deepEqual(missing, []));
  t.is((await gateway.stop()).code, 0);
  t.log(`${done.requests.length} requests were acknowledged, ${done.tenants.length} tenants among them`);
}

for (const family of ['sqlite', 'postgres'] as const) {
  test(`${family}: after kill -9 under load and a restart, everything acknowledged is there, and audited`, (t) =>
    crashUnderLoad(t, family));
}
