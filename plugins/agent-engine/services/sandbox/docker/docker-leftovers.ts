import type Docker from 'dockerode';
import { DEADLINE_LABEL, SANDBOX_LABEL } from './container-spec.ts';
import { isMissing } from './docker-failure.ts';

/** Milliseconds for the list, and for each removal. */
const CALL_MS = 20_000;

/**
 * Removes containers that nobody waits for any more: what a gateway that crashed has left, whichever of those that share the engine
 * it was. Gives back how many; throws what the engine threw first, after trying all.
 */
export async function removeLeftovers(docker: Docker, now: number): Promise<number> {
  const containers = await docker.listContainers({
    all: true,
    filters: JSON.stringify({ label: [SANDBOX_LABEL] }),
    abortSignal: AbortSignal.timeout(CALL_MS),
  });
  const over = containers.filter(({ Labels }) => Number(Labels[DEADLINE_LABEL] ?? 0) < now);
  const failures: unknown[] = [];
  for (const { Id } of over) {
    try {
      await removeContainer(docker, Id);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return over.length;
}

/** Kills and removes a container; one that is gone is fine. */
export async function removeContainer(docker: Docker, nameOrId: string): Promise<void> {
  try {
    const options = { force: true, v: true, abortSignal: AbortSignal.timeout(CALL_MS) };
    await docker.getContainer(nameOrId).remove(options);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
