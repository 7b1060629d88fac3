import { createGatewayData } from './gateway-data.ts';
import type { PersonalData } from './personal-data.ts';
import { createTenantPurge, type TenantPurge, type TenantPurgeParts } from './tenant-purge.ts';

/** The part of data protection that is the gateway's own. */
export interface Protection {
  /** What the gateway itself keeps about people, to be contributed together with that of plugins. */
  readonly own: PersonalData;
  readonly purge: TenantPurge;
}

/** Makes it. */
export function createProtection(
  parts: TenantPurgeParts & Parameters<typeof createGatewayData>[0],
): Protection {
  return { own: createGatewayData(parts), purge: createTenantPurge(parts) };
}
