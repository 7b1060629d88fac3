import type { Database } from '../data/database.ts';
import { egressRegistration } from '../egress/rule-table.ts';
import { lockRegistration } from '../leases/locks/lock-tables.ts';
import { permitRegistration } from '../leases/permits/permit-tables.ts';
import { jobRegistration } from '../messages/jobs/job-table.ts';
import { kernelRegistration } from './kernel-registration.ts';

/** Makes the tables of the kernel and its services, or brings them to their newest form. */
export async function registerKernelTables(database: Database): Promise<void> {
  const registrations = [
    kernelRegistration,
    egressRegistration,
    lockRegistration,
    permitRegistration,
    jobRegistration,
  ];
  for (const registration of registrations) await database.register(registration);
}
