import test from 'ava';
import channels from '../../../plugins/channels/plugin.ts';
import { BindingTable } from '../../../plugins/channels/store/tables.ts';
import { pluginConformance } from '../../../testing/index.ts';
import { APPS, channelEnv } from './channel-kit.ts';

const bodyOf = (key: string) => ({ platform: 'feishu', app_key: key, app_secret_ref: 'env:A' });

for (const { title, run } of pluginConformance(channels, {
  env: { ...channelEnv({}), SVC_TENANT_SECRETS: 'A' },
  samples: { [`POST ${APPS}`]: { body: bodyOf('{marker}') } },
  async seed({ request, gateway }, { id: tenantId, token, marker }) {
    const made = await request(APPS, { method: 'POST', token, body: bodyOf(`seed-${marker}`) });
    const { clock, database, ids } = gateway.services;
    const now = new Date(clock.now());
    await database.forTenant(tenantId).insert(BindingTable, {
      ...{ id: ids.uuid(), userId: ids.uuid(), channelAppId: made.body.id, platform: 'feishu' },
      ...{ providerUserHash: '0'.repeat(64), createdAt: now, lastLoginAt: now, revokedAt: null },
    });
    return { id: made.body.id };
  },
})) {
  test.serial(`conformance: ${title}`, async (t) => {
    await t.notThrowsAsync(run);
  });
}
