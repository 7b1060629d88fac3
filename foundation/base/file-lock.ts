import { open, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ignoreMissing, isSystemError } from './durable-file.ts';

/** For the owner of the file alone; nothing is in it. */
const MODE = 0o600;
/** Milliseconds between two looks at the lock of another process. */
const POLL = 20;
/** Milliseconds after which a lock is one that a killed process left: a change takes a few. */
const ABANDONED = 3_000;
/** Milliseconds after which a change is given up. */
const PATIENCE = 15_000;

/**
 * Does `work`, which takes milliseconds, while no other process that asks changes the file: replicas may share it.
 * `.<name>.lock` lies beside it meanwhile; one that a killed process left is taken over. Rejects with the system's
 * error where the folder cannot be written.
 *
 * @param refusal makes the error after 15 s of waiting, of a text that goes on after the name of the file
 */
export async function whileLocked<T>(
  target: string,
  work: () => Promise<T>,
  refusal: (reason: string) => Error,
): Promise<T> {
  const lock = path.join(path.dirname(target), `.${path.basename(target)}.lock`);
  let waited = 0;
  for (let seen: bigint | undefined, since = 0; !(await isCreated(lock)); waited += POLL) {
    if (waited >= PATIENCE)
      throw refusal(`is being changed by other processes; if there are none, delete ${lock}`);
    const now = await stat(lock, { bigint: true }).catch(ignoreMissing);
    if (now?.ctimeNs !== seen) [seen, since] = [now?.ctimeNs, waited];
    else if (waited - since >= ABANDONED) {
      // One at a time, and only what is still the same: another one may have taken it over since.
      await whileLocked(
        lock,
        async () => {
          const still = await stat(lock, { bigint: true }).catch(ignoreMissing);
          if (still?.ctimeNs === seen) await unlink(lock).catch(ignoreMissing);
        },
        refusal,
      );
    }
    await pause(POLL);
  }
  try {
    return await work();
  } finally {
    await unlink(lock).catch(ignoreMissing);
  }
}

/** False where it is there already. */
async function isCreated(lock: string): Promise<boolean> {
  try {
    await (await open(lock, 'wx', MODE)).close();
    return true;
  } catch (error) {
    if (isSystemError(error, 'EEXIST')) return false;
    throw error;
  }
}
