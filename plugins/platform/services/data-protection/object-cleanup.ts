import {
  type Clock,
  type Database,
  forEachLimited,
  ObjectErrors,
  type ObjectInfo,
  type Objects,
  type StoredObjects,
} from 'agent-gateway';

/** The result of a clean-up. */
export interface CleanedUp {
  readonly deleted: number;
  readonly bytes: number;
  /** Objects of the tenant that were checked. */
  readonly scanned: number;
}

/** Age in milliseconds below which an object is not deleted: the row that refers to it may not be written yet. */
const YOUNG_MS = 3_600_000;
/** Objects that are deleted at one time. */
const PARALLEL = 8;

/**
 * Makes the clean-up of objects (decisions 1.5): it deletes a tenant's objects that are older than an hour, that some
 * plugin claims, and to which no claiming plugin refers. Throws `objects.unavailable` without object storage.
 */
export function createObjectCleanup(parts: {
  readonly objects: Objects;
  readonly references: () => readonly StoredObjects[];
  readonly clock: Pick<Clock, 'now'>;
  readonly database: Pick<Database, 'now'>;
}) {
  const { objects, references, clock, database } = parts;

  return async (tenantId: string, signal: AbortSignal): Promise<CleanedUp> => {
    if (!objects.available)
      throw ObjectErrors.unavailable('There is no object storage', { retryable: false });
    const space = objects.forTenant(tenantId);
    const claims = references();
    // The earlier one of two clocks: to one that is ahead no upload is young.
    const oldest = Math.min(clock.now(), await database.now()) - YOUNG_MS;
    const done = { deleted: 0, bytes: 0, scanned: 0 };

    const remove = (sizes: ReadonlyMap<string, number>) => (keys: readonly string[]) =>
      forEachLimited(
        keys.filter((key) => sizes.has(key)),
        PARALLEL,
        async (key) => {
          if (!(await space.delete(key))) return;
          done.deleted += 1;
          done.bytes += sizes.get(key)!;
        },
        signal,
      );

    for (let after: string | undefined = ''; after !== undefined; ) {
      const page = await space.list('', after === '' ? {} : { after });
      done.scanned += page.objects.length;
      const old = page.objects.filter(({ modifiedAt }) => modifiedAt.getTime() <= oldest);
      for (const [claimants, found] of byClaimants(claims, old)) {
        signal.throwIfAborted();
        const sizes = new Map(found.map(({ key, size }) => [key, size]));
        await unreferenced(claimants, tenantId, [...sizes.keys()], remove(sizes));
      }
      after = page.next;
    }
    return done;
  };
}

/** Groups objects by the plugins that claim them. Objects that no plugin claims are in no group. */
function byClaimants(claims: readonly StoredObjects[], found: readonly ObjectInfo[]) {
  const groups = new Map<string, { claimants: StoredObjects[]; objects: ObjectInfo[] }>();
  for (const object of found) {
    const claimants = claims.filter(({ prefixes }) =>
      prefixes.some((prefix) => object.key.startsWith(prefix)),
    );
    if (claimants.length === 0) continue;
    const name = claimants.map((claimant) => claims.indexOf(claimant)).join();
    const group = groups.get(name) ?? { claimants, objects: [] };
    group.objects.push(object);
    groups.set(name, group);
  }
  return [...groups.values()].map(({ claimants, objects }) => [claimants, objects] as const);
}

/** Passes on the keys to which no claimant refers, while all claimants keep them unreferenced. */
async function unreferenced(
  claimants: readonly StoredObjects[],
  tenantId: string,
  keys: readonly string[],
  remove: (keys: readonly string[]) => Promise<void>,
): Promise<void> {
  const [first, ...rest] = claimants;
  if (keys.length === 0) return;
  if (first === undefined) return remove(keys);
  const asked = new Set(keys);
  await first.unreferenced(tenantId, keys, (free) =>
    unreferenced(
      rest,
      tenantId,
      // Ignores keys about which the claimant was not asked.
      free.filter((key) => asked.has(key)),
      remove,
    ),
  );
}
