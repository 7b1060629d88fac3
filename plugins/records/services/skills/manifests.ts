import {
  type Clock,
  createSharedCache,
  type Events,
  GatewayError,
  type Leases,
  type Logger,
  ObjectErrors,
  type ObjectSpace,
  type Objects,
  type PutOptions,
} from 'agent-gateway';
import { LRUCache } from 'lru-cache';
import { SkillsChanged } from '../../contract.ts';
import { type Manifest, parseManifest, printManifest } from './manifest.ts';
import { MANIFEST_KEY, manifestOfObjects, readVersion } from './skill-objects.ts';
import type { SkillCatalog } from './skill-text.ts';

const MAX_AGE_MS = 1000;
const LOAD_MS = 120_000;
/** Manifests that are kept in memory; one that changes nothing takes no room of its own. */
const MAX_TENANTS = 500;
/** Characters of an entry at most: the description, the terms of the body, and the other members. */
const ENTRY_WEIGHT = 2500;
/** Characters of the manifests that are kept parsed. */
const MAX_PARSED = 16 * 1024 * 1024;
/** Above what 500 skills with the longest descriptions can take. */
const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;
const LOCK_WAIT_MS = 15_000;
/** Milliseconds for which the lease of a process that died is kept: less than the time that other writers wait. */
const TTL_MS = 10_000;
/** Attempts to write a manifest over the version that was read; then the caller gets the failure. */
const MAX_ATTEMPTS = 8;

/** Codes with which the store refuses a write because another process has written. */
const RACES = new Set([ObjectErrors.changed, ObjectErrors.exists].map(({ definition }) => definition.code));

/** What the manifests are made of. */
export interface ManifestsParts {
  readonly objects: Pick<Objects, 'forTenant'>;
  readonly leases: Pick<Leases, 'withLease'>;
  readonly events: Pick<Events, 'emit'>;
  readonly catalog: SkillCatalog;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What becomes of a manifest. */
export interface ManifestChange<T> {
  /** Absent: it stays as it is. */
  readonly manifest?: Manifest;
  readonly result: T;
}

/** What a change works with. */
export interface ChangeContext {
  readonly manifest: Manifest;
  /** False where the store has none, or a damaged one. */
  readonly isStored: boolean;
  readonly space: ObjectSpace;
  /** Aborts when the lock is lost. */
  readonly signal: AbortSignal;
}

type Stored = NonNullable<Awaited<ReturnType<typeof readVersion>>>;

const weightOf = ({ skills }: Manifest) => 1 + skills.size * ENTRY_WEIGHT;

interface Loaded {
  readonly manifest: Manifest;
  /** What must still hold when the manifest is replaced. */
  readonly condition: Pick<PutOptions, 'ifAbsent' | 'ifMatch'>;
  /** False where the store has none, or a damaged one. */
  readonly isStored: boolean;
  /** Of one that had to be put together from the objects: the names of those that could not be read. */
  readonly skipped?: readonly string[];
}

/** The manifests of tenants: what a tenant has changed about the skills that come with the gateway. */
export type Manifests = ReturnType<typeof createManifests>;

/** Makes the manifests over object storage. */
export function createManifests(parts: ManifestsParts) {
  const { objects, leases, events, catalog, clock, log } = parts;
  const recent = createSharedCache<Manifest>({
    load: current,
    clock,
    maxAge: MAX_AGE_MS,
    // The store has its own time limits, and a damaged manifest takes a while to put together.
    deadline: LOAD_MS,
    maxLoads: Number.POSITIVE_INFINITY,
    maxEntries: MAX_TENANTS,
    weigh: weightOf,
  });

  // An unchanged manifest stays the same object, so that caches keyed by it stay valid.
  const parsed = new LRUCache<string, { readonly etag: string; readonly manifest: Manifest }>({
    max: MAX_TENANTS,
    maxSize: MAX_PARSED,
    sizeCalculation: ({ manifest }) => weightOf(manifest),
  });

  function parse(tenantId: string, { text, info: { etag } }: Stored): ReturnType<typeof parseManifest> {
    const last = parsed.get(tenantId);
    if (last?.etag === etag) return last.manifest;
    const manifest = parseManifest(text);
    if (typeof manifest === 'string') parsed.delete(tenantId);
    else parsed.set(tenantId, { etag, manifest });
    return manifest;
  }

  async function load(tenantId: string, space: ObjectSpace): Promise<Loaded> {
    const found = await readVersion(space, MANIFEST_KEY, MAX_MANIFEST_BYTES);
    const stored = found === undefined ? 'damaged' : parse(tenantId, found);
    if (stored === 'newer') {
      throw ObjectErrors.unavailable('A newer version of the gateway has written skills.json');
    }
    const condition = found === undefined ? { ifAbsent: true } : { ifMatch: found.info.etag };
    if (stored !== 'damaged') return { manifest: stored, condition, isStored: true };
    const skipped: string[] = [];
    const rebuilt = await manifestOfObjects(space, catalog, (name) => skipped.push(name));
    const isDoubtful = found !== undefined || skipped.length > 0;
    const manifest = isDoubtful ? { ...rebuilt, isRebuilt: true } : rebuilt;
    const isRebuilt = isDoubtful || rebuilt.skills.size > 0;
    return { manifest, condition, isStored: false, ...(isRebuilt ? { skipped } : {}) };
  }

  async function current(tenantId: string): Promise<Manifest> {
    const { manifest, skipped } = await load(tenantId, objects.forTenant(tenantId));
    if (skipped === undefined) return manifest;
    // A tenant's first writer stores the skill before the manifest: only under the lock is it known whether one is
    // missing.
    return change(tenantId, async (context) => ({
      ...(context.isStored ? {} : { manifest: context.manifest }),
      result: context.manifest,
    }));
  }

  /**
   * Changes a manifest: one writer at a time over all replicas, and only over the version that `work` received, so that
   * no change is lost. `work` may run several times, and writes objects before the manifest that names them; `after`
   * runs once the manifest is written, still under the lock. `stopped` ends the waiting for other writers.
   */
  async function change<T>(
    tenantId: string,
    work: (context: ChangeContext) => Promise<ManifestChange<T>>,
    after: (context: Pick<ChangeContext, 'space' | 'signal'>) => Promise<void> = async () => {},
    stopped?: AbortSignal,
  ): Promise<T> {
    const space = objects.forTenant(tenantId);
    // Strict: of two processes that replace a file at one moment, `ifMatch` does not always refuse the second.
    const options = { wait: LOCK_WAIT_MS, ttl: TTL_MS, strict: true, ...(stopped && { signal: stopped }) };
    return leases.withLease(`skills:${tenantId}`, options, async ({ signal }) => {
      for (let attempt = 1; ; attempt += 1) {
        const { manifest, condition, isStored, skipped } = await load(tenantId, space);
        if (skipped !== undefined) {
          const skills = manifest.skills.size;
          log.warn(
            { tenant_id: tenantId, skills, skipped },
            'skills.json was missing or damaged and is rebuilt',
          );
        }
        const changed = await work({ manifest, isStored, space, signal });
        if (changed.manifest === undefined) return changed.result;
        try {
          const options = { ...condition, contentType: 'application/json', signal };
          await space.put(MANIFEST_KEY, printManifest(changed.manifest), options);
        } catch (error) {
          // The lock was lost and another process wrote, or our own write happened but its answer was lost.
          if (error instanceof GatewayError && RACES.has(error.code) && attempt < MAX_ATTEMPTS) continue;
          throw error;
        } finally {
          recent.forget(tenantId);
        }
        await after({ space, signal });
        events.emit(SkillsChanged, { tenant_id: tenantId });
        return changed.result;
      }
    });
  }

  return {
    /** At most a second old, and never older than the last change made here. */
    read: async (tenantId: string): Promise<Manifest> => recent.get(tenantId),
    change,
    /** Drops what is cached of a tenant. */
    forget: recent.forget,
    clear(): void {
      recent.clear();
      parsed.clear();
    },
  };
}
