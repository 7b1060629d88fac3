import {
  backoffDelay,
  type Clock,
  type Database,
  type Hints,
  type Ids,
  type Leases,
  type Logger,
  ObjectErrors,
  type Objects,
  type Tenants,
} from 'agent-gateway';
import { SkillProvisioning } from '../../contract.ts';
import {
  findState,
  type ProvisioningState,
  SkillProvisioningEntity,
  statesOf,
} from '../../store/skill-provisionings.ts';
import { isCopy } from './installed-skills.ts';
import { type Manifest, type SkillEntry, withoutSkill, withSkill } from './manifest.ts';
import type { ChangeContext, Manifests } from './manifests.ts';
import { MARKDOWN, readVersion, SOUL_KEY, skillKey } from './skill-objects.ts';
import { digestOf, MAX_SKILL_BYTES, type SkillCatalog } from './skill-text.ts';

/** Copies that are removed in one go: uploads of the tenant wait meanwhile, and run between two batches. */
const BATCH = 10;
/** Tenants that a sweep provisions at one time. */
const PARALLEL = 4;
/** Tenants of one page of the sweep. */
const PAGE = 500;
/** Milliseconds after which a sweep looks at all tenants again, where none of them is due before. */
const WHOLE_MS = 600_000;
/** Between two attempts of a tenant that failed. */
const DELAY_MS = { first: 30_000, most: 3_600_000 };

/** What provisioning is made of. */
interface ProvisioningParts {
  readonly catalog: SkillCatalog;
  readonly manifests: Manifests;
  readonly objects: Pick<Objects, 'available' | 'check' | 'forTenant'>;
  readonly database: Pick<Database, 'forTenant' | 'system'>;
  readonly tenants: Pick<Tenants, 'get' | 'list'>;
  readonly leases: Pick<Leases, 'tryAcquire'>;
  readonly hints: Pick<Hints, 'send'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Called for each tenant that was processed. */
  onDone(result: 'ok' | 'failed'): void;
}

/**
 * Brings tenants what they do not share: a SOUL.md and a manifest. The built-in skills are shared; copies that an
 * earlier version gave a tenant are removed. Every step can be repeated: the next sweep of any replica finishes what a
 * crash left undone. Without object storage nothing is done.
 */
export function createProvisioning(parts: ProvisioningParts) {
  const { catalog, manifests, objects, database, tenants, leases, hints, clock, ids, log, onDone } = parts;

  /**
   * Provisions one tenant, unless it is deleted, has everything, or another replica is provisioning it. A failure is
   * logged and stored with the time of the next attempt; the promise does not reject.
   */
  async function provision(tenantId: string, signal: AbortSignal): Promise<void> {
    if (!objects.available) return;
    const tenant = await tenants.get(tenantId);
    if (tenant === undefined || tenant.deletedAt !== null) return;
    // Not strict: two replicas that install the same skills only work twice, and each change of a manifest has a lease
    // of its own.
    const outcome = await leases.tryAcquire(`skill-provisioning:${tenantId}`);
    if (typeof outcome === 'string') return;
    await using lease = outcome;
    const entities = database.forTenant(tenantId);
    // Read again under the lease: another replica may just have done it.
    const state = await findState(entities);
    if (dueIn(state, catalog.id, clock.now()) > 0) return;
    const write = (next: ProvisioningState) =>
      entities.upsert(SkillProvisioningEntity, next, { conflict: [] });
    const alive = AbortSignal.any([signal, lease.signal]);
    try {
      await installSoul(tenantId, alive);
      while (await removeCopies(tenantId, alive)) alive.throwIfAborted();
      await write(provisioned(catalog.id, clock.now()));
      onDone('ok');
    } catch (err) {
      // A stop or a lost lock says nothing about the tenant, so no failure is recorded: it stays due, and the next run
      // continues.
      if (alive.aborted) return;
      const next = failed(state, clock.now(), ids.bytes(1)[0]! / 255);
      log.warn({ err, tenant_id: tenantId, next_attempt_at: next.nextAttemptAt }, 'built-in skills failed');
      onDone('failed');
      await write(next);
    }
  }

  async function installSoul(tenantId: string, signal: AbortSignal): Promise<void> {
    const options = { ifAbsent: true, contentType: MARKDOWN, signal };
    try {
      await objects.forTenant(tenantId).put(SOUL_KEY, catalog.soul, options);
    } catch (error) {
      const isThere = ObjectErrors.exists.is(error);
      if (!isThere) throw error;
    }
  }

  /**
   * Removes some of the copies that the tenant has of built-in skills, and makes sure that there is a manifest. False
   * when no copy was left.
   */
  function removeCopies(tenantId: string, signal: AbortSignal): Promise<boolean> {
    const remove = async (context: ChangeContext) => {
      const copies = [...context.manifest.skills].filter(([name, entry]) => isCopy(name, entry, catalog));
      if (copies.length === 0 && context.isStored) return { result: false };
      let manifest: Manifest = context.manifest;
      for (const [name, entry] of copies.slice(0, BATCH)) {
        signal.throwIfAborted();
        manifest = (await removeCopy(context, name, entry))
          ? withoutSkill(manifest, name, false)
          : withSkill(manifest, name, { ...entry, user_modified: true });
      }
      return { manifest, result: copies.length > BATCH };
    };
    return manifests.change<boolean>(tenantId, remove, undefined, signal);
  }

  /** False for a text that is no copy: an upload died between the text and the manifest, so it is the user's. */
  async function removeCopy({ space }: ChangeContext, name: string, entry: SkillEntry): Promise<boolean> {
    const stored = await readVersion(space, skillKey(name), MAX_SKILL_BYTES);
    if (stored === undefined) return true;
    const made = [entry.sha256, catalog.skills.get(name)?.sha256];
    if (!made.includes(digestOf(stored.text))) return false;
    await space.delete(skillKey(name));
    return true;
  }

  /** Monotonic time from which on a sweep looks at all tenants; until then it looks at the newest ones. */
  let wholeFrom = Number.NEGATIVE_INFINITY;

  /** Those of a page that are due, and in how many milliseconds the first one of it is. */
  async function dueOn(offset: number) {
    const { records } = await tenants.list({ limit: PAGE, offset });
    const states = await statesOf(
      database,
      records.map(({ id }) => id),
    );
    const now = clock.now();
    const all = records.map(({ id }) => ({ id, wait: dueIn(states.get(id), catalog.id, now) }));
    return {
      due: all.filter(({ wait }) => wait === 0).map(({ id }) => id),
      wait: Math.min(...all.map(({ wait }) => wait)),
      isLast: all.length < PAGE,
    };
  }

  return {
    async kick(tenantId: string): Promise<void> {
      if (objects.available) await hints.send(SkillProvisioning, { tenant_id: tenantId }, { id: tenantId });
    },
    provision,
    /**
     * Provisions all live tenants that are due; where it is known that none was, only those that were made since, up to
     * a page on which nobody is. Rejects when the database or the object storage does not answer.
     */
    async sweep(signal: AbortSignal): Promise<void> {
      if (!objects.available) return;
      const now = clock.monotonic();
      let first = WHOLE_MS;
      for (let offset = 0; ; offset += PAGE) {
        const { due, wait, isLast } = await dueOn(offset);
        if (due.length === 0 && now < wholeFrom) return;
        first = Math.min(first, wait);
        // One check instead of a failure for every tenant.
        if (due.length > 0) await objects.check(signal);
        const next = due.values();
        const worker = async () => {
          for (const tenantId of next) {
            if (signal.aborted) return;
            await provision(tenantId, signal);
          }
        };
        // All of them have ended before the sweep rejects: two sweeps never overlap.
        const ended = await Promise.allSettled(Array.from({ length: PARALLEL }, worker));
        for (const each of ended) if (each.status === 'rejected') throw each.reason;
        if (signal.aborted) return;
        if (isLast) break;
      }
      wholeFrom = now + first;
    },
  };
}

/** Milliseconds until a tenant in this state is due: 0 for one that is, infinity for one that has everything. */
export function dueIn(state: ProvisioningState | undefined, catalogId: string, now: number): number {
  if (state === undefined) return 0;
  if (state.catalog === catalogId) return Number.POSITIVE_INFINITY;
  return Math.max(0, (state.nextAttemptAt?.getTime() ?? now) - now);
}

/** The state after a success. */
export function provisioned(catalogId: string, now: number): ProvisioningState {
  return { catalog: catalogId, failures: 0, nextAttemptAt: null, updatedAt: new Date(now) };
}

/**
 * The state after a failure: the next attempt waits 30 s, then twice as long each time, an hour at most. Up to half of
 * the wait is subtracted at random, so that tenants that failed together are not retried together.
 *
 * @param random a number from 0 to 1
 */
export function failed(state: ProvisioningState | undefined, now: number, random: number): ProvisioningState {
  const failures = (state?.failures ?? 0) + 1;
  return {
    catalog: state?.catalog ?? null,
    failures,
    nextAttemptAt: new Date(now + backoffDelay(failures, DELAY_MS, random)),
    updatedAt: new Date(now),
  };
}
