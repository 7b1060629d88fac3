import { defineJob, forEachLimited, type JobHandler, type StoredObjects, Type } from 'agent-gateway';
import type { Provisioning } from '../../contract.ts';
import { SkillProvisioningEntity } from '../../store/skill-provisionings.ts';
import type { Manifests } from './manifests.ts';
import {
  MANIFEST_KEY,
  nameOfSkill,
  SKILL_FOLDER,
  SOUL_KEY,
  skillKey,
  storedSkills,
} from './skill-objects.ts';

/** Objects that are deleted at one time. */
const PARALLEL = 8;

/**
 * Removes the skills and the SOUL.md that a tenant had when it was erased; the built-in ones come back as they were
 * made. `before` is in milliseconds.
 */
export const ForgetSkills = defineJob('records.forget-skills', Type.Object({ before: Type.Number() }));

/** The worker of `ForgetSkills`. What was uploaded later stays. */
export function forgetSkills(parts: {
  readonly manifests: Pick<Manifests, 'change'>;
  readonly souls: { forget(tenantId: string): void };
  readonly provisioning: Provisioning;
}): JobHandler<{ readonly before: number }> {
  const { manifests, souls, provisioning } = parts;
  return async ({ before }, { tenantId = '', entities, signal: stopped }) => {
    let old: readonly string[] = [];
    await manifests.change(
      tenantId,
      async ({ manifest, space, signal }) => {
        // Of all that is stored: an attempt that ended early has taken the names out of the manifest already.
        const stored = new Map<string, Date>();
        for await (const { name, modifiedAt } of storedSkills(space)) {
          signal.throwIfAborted();
          stored.set(name, modifiedAt);
        }
        const isLater = (name: string) => (stored.get(name)?.getTime() ?? 0) > before;
        old = [...stored.keys()].filter((name) => !isLater(name));
        const skills = new Map([...manifest.skills].filter(([name]) => isLater(name)));
        // Those that the tenant had deleted come back, too.
        return { manifest: { skills, removed: new Set() }, result: undefined };
      },
      async ({ space }) => {
        await forEachLimited(old, PARALLEL, async (name) => {
          await space.delete(skillKey(name));
        });
        const soul = await space.head(SOUL_KEY);
        if (soul !== undefined && soul.modifiedAt.getTime() <= before) await space.delete(SOUL_KEY);
        souls.forget(tenantId);
      },
      stopped,
    );
    // Also when the request is lost: the next sweep provisions the tenant again.
    await entities().delete(SkillProvisioningEntity, {});
    await provisioning.kick(tenantId);
  };
}

/**
 * What refers to skills, SOUL.md and the manifest: a skill is in use if the manifest names it, or had to be rebuilt and
 * may lack it; the other two always are.
 */
export function skillReferences(manifests: Pick<Manifests, 'change'>): StoredObjects {
  return {
    name: 'records',
    prefixes: [SKILL_FOLDER, SOUL_KEY, MANIFEST_KEY],
    async unreferenced(tenantId, keys, remove) {
      const texts = keys.filter((key) => nameOfSkill(key) !== undefined);
      if (texts.length === 0) return;
      // Uploads wait meanwhile, so the manifest cannot begin to name an object while it is removed.
      await manifests.change(tenantId, async ({ manifest }) => {
        if (manifest.isRebuilt !== true) {
          await remove(texts.filter((key) => !manifest.skills.has(nameOfSkill(key)!)));
        }
        return { result: undefined };
      });
    },
  };
}
