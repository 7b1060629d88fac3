import type { ProvisioningState } from '../../store/skills/skill-provisioning.ts';
import type { Manifest, SkillEntry } from './manifest.ts';
import type { BuiltinSkill, SkillCatalog } from './skill-catalog.ts';

const FIRST_DELAY_MS = 30_000;
const LONGEST_DELAY_MS = 3_600_000;

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

/** What is to be written, and how much of it there is no room for. */
export interface PendingSkills {
  readonly pending: readonly BuiltinSkill[];
  readonly withoutRoom: number;
}

/** The built-in skills that a tenant lacks, or has in an older form, as far as `most` skills in all allow. Pure. */
export function pendingSkills(manifest: Manifest, catalog: SkillCatalog, most: number): PendingSkills {
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

/** The entry of a built-in skill that nobody has touched. */
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
  const full = Math.min(FIRST_DELAY_MS * 2 ** Math.min(failures - 1, 20), LONGEST_DELAY_MS);
  return {
    catalog: state?.catalog ?? null,
    failures,
    nextAttemptAt: new Date(now + full * (1 - random / 2)),
    updatedAt: new Date(now),
  };
}
