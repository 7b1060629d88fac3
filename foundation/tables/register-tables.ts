import type { Database } from '../data/database.ts';
import { egressRegistration } from '../egress/rule-table.ts';
import { leaseRegistration } from '../leases/lease-tables.ts';
import { kernelRegistration } from './kernel-registration.ts';

/** Makes the tables of the kernel and its services, or brings them to their newest form. */
export async function registerKernelTables(database: Database): Promise<void> {
  for (const registration of [kernelRegistration, egressRegistration, leaseRegistration]) {
    await database.register(registration);
  }
}
