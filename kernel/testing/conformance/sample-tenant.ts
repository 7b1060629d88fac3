import type { KernelServices } from '../../api/services.ts';
import type { SampleTenant } from './conformance.ts';

/** Requests a minute that the suite never reaches. */
const PLENTY = 1_000_000;

/** A tenant with a key of its owner: everything of its own, nothing of others. */
export async function sampleTenant(
  { tenants, apiKeys, ids }: KernelServices,
  name: string,
): Promise<SampleTenant> {
  const { id } = await tenants.create({ name, rateLimitRpm: PLENTY });
  const { key } = await apiKeys.create({
    tenantId: id,
    name: 'conformance',
    roles: ['owner', 'admin', 'user'],
    scopes: [],
    expiresAt: null,
    createdBy: null,
  });
  return { id, token: key, marker: `${name}${ids.bytes(4).toString('hex')}` };
}
