import { isUniqueViolation } from 'agent-gateway';

/** False where what is being inserted is there already. */
export async function isNew(inserting: Promise<unknown>): Promise<boolean> {
  try {
    await inserting;
    return true;
  } catch (error) {
    if (isUniqueViolation(error)) return false;
    throw error;
  }
}
