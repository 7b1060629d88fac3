import type { ConformanceOptions } from 'agent-gateway/testing';
import { BindingTable } from './store/tables.ts';

const APPS = '/admin/v1/channel-apps';
const bodyOf = (key: string) => ({ platform: 'feishu', app_key: key, app_secret_ref: 'env:A' });

/**
 * What the conformance suite cannot find out by itself: only this plugin's tables hold who has logged in through a
 * messenger.
 */
export default {
  env: {
    SVC_CHANNEL_HASH_SECRET: 'a-secret-of-at-least-32-characters!',
    SAAS_PUBLIC_URL: 'https://gateway.example',
    SVC_TENANT_SECRETS: 'A',
  },
  samples: { [`POST ${APPS}`]: { body: bodyOf('{marker}') } },
  async seed({ request, gateway }, { id: tenantId, token, marker }) {
    const made = await request(APPS, { method: 'POST', token, body: bodyOf(`seed-${marker}`) });
    const { clock, database, ids } = gateway.services;
    const now = new Date(clock.now());
    await database.forTenant(tenantId).insert(BindingTable, {
      id: ids.uuid(),
      userId: ids.uuid(),
      channelAppId: made.body.id,
      platform: 'feishu',
      providerUserHash: '0'.repeat(64),
      createdAt: now,
      lastLoginAt: now,
      revokedAt: null,
    });
    return { id: made.body.id };
  },
} satisfies ConformanceOptions;
