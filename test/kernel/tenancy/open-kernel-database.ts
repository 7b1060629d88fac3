import { type Database, openDatabase } from '../../../foundation/data/database.ts';
import { kernelRegistration } from '../../../foundation/gateway-tables.ts';
import type { FreshDatabase } from '../../support/databases.ts';

/**
 * Opens the database of a test with the kernel's own tables. Close it in the test: teardowns run in no useful order.
 */
export async function openKernelDatabase(fresh: FreshDatabase): Promise<Database & AsyncDisposable> {
  const database = await openDatabase(fresh.options);
  await database.register(kernelRegistration);
  return Object.assign(database, { [Symbol.asyncDispose]: () => database.close() });
}
