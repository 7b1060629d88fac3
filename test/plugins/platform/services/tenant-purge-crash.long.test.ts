import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { AgentStateEntity } from '../../../../plugins/runtime/store/agent-states.ts';
import { sampleRow } from '../../../../testing/conformance/sample-row.ts';
import { sampledGatewayDatabase } from '../../../support/databases.ts';
import { startGatewayProcess, temporaryFolder } from '../../../support/gateway-process.ts';
import { until } from '../../../support/until.ts';
import { startProtected } from '../data-protection-kit.ts';

/** So many rows that their purge takes long enough to be hit in the middle. */
const ROWS = 40_000;
const BATCH = 500;
const OBJECTS = 50;

// One after the other: rows that are made for one would keep connections of another waiting.
sampledGatewayDatabase(
  test.serial,
  'a purge that was killed is finished by the next start',
  async (t, fresh) => {
    t.timeout(300_000);
    const folder = fresh.environment.SVC_DATA_DIR ?? (await temporaryFolder(t));
    const env = { ...fresh.environment, SVC_DATA_DIR: folder, SVC_TENANT_RETENTION: '1ms' };
    const before = await startProtected(t, { env: { ...env, SVC_PURGE_INTERVAL: '500h' } });
    const [gone, kept] = [await before.makeTenant('one'), await before.makeTenant('two')];
    const { database, objects } = before.gateway.services;
    for (let first = 0; first < ROWS; first += BATCH) {
      const row = (index: number) => ({ ...sampleRow(AgentStateEntity, '4711'), key: `${first + index}` });
      const rows = Array.from({ length: BATCH }, (_, index) => row(index));
      await database.forTenant(gone.id).insertMany(AgentStateEntity, rows);
    }
    await database.forTenant(kept.id).insert(AgentStateEntity, sampleRow(AgentStateEntity, '4711'));
    for (const { id } of [gone, kept])
      for (let index = 0; index < OBJECTS; index += 1) await objects.forTenant(id).put(`files/${index}`, 'x');
    t.is((await before.request(`/v1/tenants/${gone.id}`, { method: 'DELETE' })).status, 202);
    await before.stop();

    const rowsOf = async (id: string) => {
      const [row] = await fresh.ask(`select count(*) as n from agent_states where tenant_id = '${id}'`);
      return Number(row!.n);
    };
    const often = { ...env, SVC_PURGE_INTERVAL: '1s' };
    const first = await startGatewayProcess(t, folder, often);
    await until(async () => (await rowsOf(gone.id)) < ROWS, 60_000);
    await first.stop('SIGKILL');
    const left = await rowsOf(gone.id);
    const [killed] = await fresh.ask(
      `select purge_started_at, purged_at from tenants where id = '${gone.id}'`,
    );
    t.true(left > 0 && left < ROWS, `${left} rows`);
    t.truthy(killed!.purge_started_at);
    t.is(killed!.purged_at, null);

    // Where the dead process still holds the lease, a later run has it.
    const second = await startGatewayProcess(t, folder, often);
    const purgedAt = async () => (await second.request(`/v1/tenants/${gone.id}`)).body.purged_at;
    await until(async () => (await purgedAt()) !== null, 60_000);
    t.deepEqual([await rowsOf(gone.id), await rowsOf(kept.id)], [0, 1]);
    const recorded = `select count(*) as n from audit_logs where tenant_id = '${gone.id}' and action = 'tenant.purged'`;
    t.is(Number((await fresh.ask(recorded))[0]!.n), 1);
    const stored = (await readdir(folder, { recursive: true })).map((name) => path.join(folder, name));
    const files = stored.filter((name) => name.includes(gone.id) && existsSync(name));
    t.deepEqual(files, []);
    t.true(stored.filter((name) => name.includes(kept.id)).length > OBJECTS);
    await second.stop();
  },
);
