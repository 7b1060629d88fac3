import type { Database } from './database/database.ts';
import { kernelRegistration } from './database/entities/kernel-registration.ts';
import { egressRegistration } from './services/egress/rule-table.ts';
import { lockRegistration } from './services/locks/lock-tables.ts';
import { permitRegistration } from './services/permits/permit-tables.ts';

/** Makes the tables of the kernel and its services, or brings them to their newest form. */
export async function registerKernelTables(database: Database): Promise<void> {
  for (const registration of [kernelRegistration, egressRegistration, lockRegistration, permitRegistration]) {
    await database.register(registration);
  }
}
