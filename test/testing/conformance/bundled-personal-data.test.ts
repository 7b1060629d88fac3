import test from 'ava';
import type { PersonalData } from '../../../foundation/protection/personal-data.ts';
import { PersonalDataPoint } from '../../../kernel/api/points.ts';
import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import execution from '../../../plugins/execution/plugin.ts';
import platform from '../../../plugins/platform/plugin.ts';
import records from '../../../plugins/records/plugin.ts';
import runtime from '../../../plugins/runtime/plugin.ts';
import workflow from '../../../plugins/workflow/plugin.ts';
import { pluginConformance, startTestGateway } from '../../../testing/index.ts';

for (const { plugin, needs } of [
  { plugin: records, needs: [] },
  { plugin: agentEngine, needs: [records] },
  { plugin: workflow, needs: [records, agentEngine] },
  { plugin: platform, needs: [records, agentEngine] },
  { plugin: execution, needs: [records, agentEngine, workflow] },
  { plugin: runtime, needs: [records, agentEngine, workflow] },
]) {
  test(`${plugin.name} exports and erases all that it keeps of tenants`, async (t) => {
    const checks = pluginConformance(plugin, { with: needs });
    await t.notThrowsAsync(checks.find(({ title }) => title.includes('about people'))!.run);
  });
}

test('each table of tenants of a gateway is exported by somebody, and each section by one', async (t) => {
  const gateway = await startTestGateway();
  t.teardown(gateway.stop);
  const { host, services } = gateway.gateway;
  const data = host.slots.all
    .flatMap(({ current }) => current?.effects.contributions ?? [])
    .filter(({ pointId }) => pointId === PersonalDataPoint.id)
    .map(({ value }) => value as PersonalData);
  const sections = data.flatMap((one) => one.sections);
  const covered = new Set(sections.flatMap(({ entities }) => entities.map(({ meta }) => meta.tableName)));
  const tables = await services.database.tenantTables.list();
  const missing = tables.filter(({ name, isImpersonal }) => !isImpersonal && !covered.has(name));
  t.deepEqual(missing, []);
  t.true(tables.length > 20);
  const names = sections.map(({ name }) => name);
  t.deepEqual(
    names.filter((name, at) => names.indexOf(name) !== at),
    [],
  );
  t.is(new Set(data.map(({ name }) => name)).size, data.length);
});

/** It has rows for as long as they wait for their delivery, so it stays small. */
const SMALL = 'workflow_outbox';

test('each table of tenants finds the rows of one by an index, for purges and erasures', async (t) => {
  const gateway = await startTestGateway();
  t.teardown(gateway.stop);
  const { database } = gateway.gateway.services;
  const scans: string[] = [];
  for (const { name } of await database.tenantTables.list()) {
    const plan = await database
      .system()
      .execute<{ detail: string }[]>(`explain query plan select 1 from ${name} where tenant_id = 'a'`);
    if (plan.some(({ detail }) => detail.startsWith('SCAN'))) scans.push(name);
  }
  t.deepEqual(scans, [SMALL]);
});
