import type { Identity } from 'agent-gateway';

/** True for who may see and use what belongs to any user of his own tenant: its `admin`s and its `owner` (decisions 0.6, 1.6). */
export function isTenantAdmin({ roles }: Identity): boolean {
  return roles.includes('admin') || roles.includes('owner');
}
