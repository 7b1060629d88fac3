import type { Registration } from '../data/database.ts';
import { initial } from './001-initial.ts';
import { ApiKey } from './api-key.ts';
import { AuditLog } from './audit-log.ts';
import { Tenant } from './tenant.ts';

/** What the kernel itself keeps in the database. Registered first, before any plugin. */
export const kernelRegistration: Registration = {
  owner: 'kernel',
  entities: [{ entity: Tenant, tenancy: 'self' }, ApiKey, AuditLog],
  migrations: [initial],
};
