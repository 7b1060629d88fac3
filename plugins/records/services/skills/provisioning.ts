import {
  backoffDelay,
  type Clock,
  type Database,
  GatewayError,
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
import { MAX_SKILLS, type Manifest, type SkillEntry, withSkill } from './manifest.ts';
import type { ChangeContext, Manifests } from './manifests.ts';
import { MARKDOWN, readVersion, SOUL_KEY, skillKey } from './skill-objects.ts';
import { type BuiltinSkill, digestOf, MAX_SKILL_BYTES, type SkillCatalog } from './skill-text.ts';

/** Skills that are written while uploads of the tenant wait; then they have their turn. */
const BATCH = 10;
/** Tenants that a sweep looks after at one time. */
const PARALLEL = 4;
/** Tenants of one page of the sweep. */
const PAGE = 500;
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
  /** Called for each tenant that was looked after. */
  onDone(result: 'ok' | 'failed'): void;
}

/**
 * Brings the catalog to the tenants. Every step can be done again: what a crash left undone is found by the next sweep, of any replica. Without
 * object storage nothing is done.
 */
export function createProvisioning(parts: ProvisioningParts) {
  const { catalog, manifests, objects, database, tenants, leases, hints, clock, ids, log, onDone } = parts;

  /**
   * Looks after one tenant, unless it is deleted, has everything, or another replica is at it. A failure is logged and kept with the time of
   * the next attempt; it does not reject for it.
   */
  async function provision(tenantId: string, signal: AbortSignal): Promise<void> {
    if (!objects.available) return;
    const tenant = await tenants.get(tenantId);
    if (tenant === undefined || tenant.deletedAt !== null) return;
    // Not strict: two replicas that install the same skills only work twice, and each change of a manifest has a lease of its own.
    const outcome = await leases.tryAcquire(`skill-provisioning:${tenantId}`);
    if (typeof outcome === 'string') return;
    await using lease = outcome;
    const entities = database.forTenant(tenantId);
    // Read again under the lease: another replica may just have done it.
    const state = await findState(entities);
    if (!isDue(state, catalog.id, clock.now())) return;
    const write = (next: ProvisioningState) =>
      entities.upsert(SkillProvisioningEntity, next, { conflict: [] });
    const alive = AbortSignal.any([signal, lease.signal]);
    try {
      await installSoul(tenantId, alive);
      while (await installBatch(tenantId, alive)) alive.throwIfAborted();
      await write(provisioned(catalog.id, clock.now()));
      onDone('ok');
    } catch (err) {
      // A stop or a lost lock says nothing about the tenant: somebody goes on at once.
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
      const isThere = error instanceof GatewayError && error.code === ObjectErrors.exists.definition.code;
      if (!isThere) throw error;
    }
  }

  /** Writes some of the skills that are missing or old. False when none was left. */
  function installBatch(tenantId: string, signal: AbortSignal): Promise<boolean> {
    return manifests.change<boolean>(tenantId, async (context) => {
      const { pending, withoutRoom } = pendingSkills(context.manifest, catalog, MAX_SKILLS);
      if (pending.length === 0) {
        if (withoutRoom > 0)
          log.warn({ tenant_id: tenantId, skills: withoutRoom }, 'no room for built-in skills');
        return { result: false };
      }
      let manifest: Manifest = context.manifest;
      for (const builtin of pending.slice(0, BATCH)) {
        signal.throwIfAborted();
        manifest = withSkill(manifest, builtin.name, await install(context, builtin));
      }
      return { manifest, result: true };
    });
  }

  async function install({ manifest, space, signal }: ChangeContext, builtin: BuiltinSkill) {
    const previous = manifest.skills.get(builtin.name);
    if (previous !== undefined) {
      const stored = await readVersion(space, skillKey(builtin.name), MAX_SKILL_BYTES);
      // An upload that died between its text and the manifest: the text is the user's.
      if (stored !== undefined && ![previous.sha256, builtin.sha256].includes(digestOf(stored.text))) {
        return { ...previous, user_modified: true };
      }
    }
    await space.put(skillKey(builtin.name), builtin.text, { contentType: MARKDOWN, signal });
    return builtinEntry(builtin);
  }

  async function dueOn(
    offset: number,
  ): Promise<{ readonly due: readonly string[]; readonly isLast: boolean }> {
    const { records } = await tenants.list({ limit: PAGE, offset });
    const all = records.map(({ id }) => id);
    const states = await statesOf(database, all);
    const now = clock.now();
    return { due: all.filter((id) => isDue(states.get(id), catalog.id, now)), isLast: all.length < PAGE };
  }

  return {
    async kick(tenantId: string): Promise<void> {
      if (objects.available) await hints.send(SkillProvisioning, { tenant_id: tenantId }, { id: tenantId });
    },
    provision,
    /** Looks after all live tenants that are due. Rejects when the database or the object storage does not answer. */
    async sweep(signal: AbortSignal): Promise<void> {
      if (!objects.available) return;
      for (let offset = 0; ; offset += PAGE) {
        const { due, isLast } = await dueOn(offset);
        // One question instead of a failure for every tenant.
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
        if (isLast || signal.aborted) return;
      }
    },
  };
}

/** What is to be done about a built-in skill of a tenant. */
export type BuiltinStep = 'keep' | 'install' | 'update';

/**
 * Decides about one built-in skill: what the tenant deleted stays deleted, what it uploaded stays as it is, what it never touched becomes the
 * current text (decisions 1.7). Pure.
 */
export function builtinStep(manifest: Manifest, builtin: BuiltinSkill): BuiltinStep {
  if (manifest.removed.has(builtin.name)) return 'keep';
  const entry = manifest.skills.get(builtin.name);
  if (entry === undefined) return 'install';
  return entry.user_modified || entry.sha256 === builtin.sha256 ? 'keep' : 'update';
}

/**
 * The built-in skills that a tenant lacks, or has in an older form, as far as `most` skills in all allow, and for how many there is no room. Pure.
 */
export function pendingSkills(manifest: Manifest, catalog: SkillCatalog, most: number) {
  const pending: BuiltinSkill[] = [];
  let room = most - manifest.skills.size;
  let withoutRoom = 0;
  for (const builtin of catalog.skills.values()) {
    const step = builtinStep(manifest, builtin);
    if (step === 'update') pending.push(builtin);
    if (step !== 'install') continue;
    if (room > 0) pending.push(builtin);
    else withoutRoom += 1;
    room -= 1;
  }
  return { pending, withoutRoom };
}

/** The entry of a built-in skill that the tenant has not touched. */
export function builtinEntry({ description, version, sha256 }: BuiltinSkill): SkillEntry {
  return { description, version, sha256, source: 'builtin', user_modified: false };
}

/** True when a tenant in this state is to be looked after at the time `now`. */
export function isDue(state: ProvisioningState | undefined, catalogId: string, now: number): boolean {
  if (state === undefined) return true;
  if (state.catalog === catalogId) return false;
  return state.nextAttemptAt === null || state.nextAttemptAt.getTime() <= now;
}

/** The state after a success. */
export function provisioned(catalogId: string, now: number): ProvisioningState {
  return { catalog: catalogId, failures: 0, nextAttemptAt: null, updatedAt: new Date(now) };
}

/**
 * The state after a failure: the next attempt waits 30 s, then twice as long each time, an hour at most. Up to half of it is taken off, so that
 * tenants that failed together do not come back together.
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
