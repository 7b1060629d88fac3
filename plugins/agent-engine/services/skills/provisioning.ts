import {
  type Clock,
  type Database,
  GatewayError,
  type Hints,
  type Ids,
  type Locks,
  type Logger,
  ObjectErrors,
  type Objects,
  type Tenants,
} from 'agent-gateway';
import { type Provisioning, SkillProvisioning } from '../../contract.ts';
import { findState, statesOf, writeState } from '../../store/skills/skill-provisioning.ts';
import { MAX_SKILLS, type Manifest, withSkill } from './manifest.ts';
import type { ChangeContext, Manifests } from './manifests.ts';
import { builtinEntry, failed, isDue, pendingSkills, provisioned } from './provisioning-rules.ts';
import type { BuiltinSkill, SkillCatalog } from './skill-catalog.ts';
import { MARKDOWN, readVersion, SOUL_KEY, skillKey } from './skill-objects.ts';
import { digestOf, MAX_SKILL_BYTES } from './skill-text.ts';

/** Skills that are written while uploads of the tenant wait; then they have their turn. */
const BATCH = 10;
/** Tenants that a sweep looks after at one time. */
const PARALLEL = 4;
/** Tenants of one page of the sweep. */
const PAGE = 500;

/** What provisioning is made of. */
export interface ProvisioningParts {
  readonly catalog: SkillCatalog;
  readonly manifests: Manifests;
  readonly objects: Pick<Objects, 'available' | 'check' | 'forTenant'>;
  readonly database: Pick<Database, 'forTenant' | 'system'>;
  readonly tenants: Pick<Tenants, 'get' | 'list'>;
  readonly locks: Pick<Locks, 'tryAcquire'>;
  readonly hints: Pick<Hints, 'send'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Told of each tenant that was looked after. */
  onDone(result: 'ok' | 'failed'): void;
}

/** Provisioning with the work behind it. */
export interface ProvisioningWork extends Provisioning {
  /**
   * Looks after one tenant, unless it is deleted, has everything, or another replica is at it. A failure is logged and kept with the time of
   * the next attempt; it does not reject for it.
   */
  provision(tenantId: string, signal: AbortSignal): Promise<void>;
  /** Looks after all live tenants that are due. Rejects when the database or the object storage does not answer. */
  sweep(signal: AbortSignal): Promise<void>;
}

/**
 * Brings the catalog to the tenants. Every step can be done again: what a crash left undone is found by the next sweep, of any replica. Without
 * object storage nothing is done.
 */
export function createProvisioning(parts: ProvisioningParts): ProvisioningWork {
  const { catalog, manifests, objects, database, tenants, locks, hints, clock, ids, log, onDone } = parts;

  async function provision(tenantId: string, signal: AbortSignal): Promise<void> {
    if (!objects.available) return;
    const tenant = await tenants.get(tenantId);
    if (tenant === undefined || tenant.deletedAt !== null) return;
    await using lock = await locks.tryAcquire(`skill-provisioning:${tenantId}`);
    if (lock === undefined) return;
    const entities = database.forTenant(tenantId);
    // Read again under the lock: another replica may just have done it.
    const state = await findState(entities);
    if (!isDue(state, catalog.id, clock.now())) return;
    const alive = AbortSignal.any([signal, lock.signal]);
    try {
      await installSoul(tenantId, alive);
      while (await installBatch(tenantId, alive)) alive.throwIfAborted();
      await writeState(entities, provisioned(catalog.id, clock.now()));
      onDone('ok');
    } catch (err) {
      // A stop or a lost lock says nothing about the tenant: somebody goes on at once.
      if (alive.aborted) return;
      const next = failed(state, clock.now(), ids.bytes(1)[0]! / 255);
      log.warn({ err, tenant_id: tenantId, next_attempt_at: next.nextAttemptAt }, 'built-in skills failed');
      onDone('failed');
      await writeState(entities, next);
    }
  }

  async function installSoul(tenantId: string, signal: AbortSignal): Promise<void> {
    const options = { ifAbsent: true, contentType: MARKDOWN, signal };
    try {
      await objects.forTenant(tenantId).put(SOUL_KEY, catalog.soul, options);
    } catch (error) {
      if (!isExisting(error)) throw error;
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
    async kick(tenantId) {
      if (objects.available) await hints.send(SkillProvisioning, { tenant_id: tenantId }, { id: tenantId });
    },
    provision,
    async sweep(signal) {
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
        // All of them have ended before a failure is told: two sweeps never overlap.
        const ended = await Promise.allSettled(Array.from({ length: PARALLEL }, worker));
        for (const each of ended) if (each.status === 'rejected') throw each.reason;
        if (isLast || signal.aborted) return;
      }
    },
  };
}

function isExisting(error: unknown): boolean {
  return error instanceof GatewayError && error.code === ObjectErrors.exists.definition.code;
}
