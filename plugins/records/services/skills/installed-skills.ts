import type { SkillSummary } from '../../contract.ts';
import { MAX_SKILLS, type Manifest, type SkillEntry, summaryOf } from './manifest.ts';
import type { BuiltinSkill, SkillCatalog } from './skill-text.ts';

/** A skill that a tenant has. */
export interface InstalledSkill {
  readonly entry: SkillEntry;
  readonly summary: SkillSummary;
  /** The text that all tenants share; undefined: the tenant has a text of its own. */
  readonly shared: BuiltinSkill | undefined;
}

/** All skills of a tenant, two ways to look at them. */
export interface InstalledSkills {
  readonly byName: ReadonlyMap<string, InstalledSkill>;
  /** By name. The same array as long as the manifest is the same one. */
  readonly list: readonly SkillSummary[];
}

/** The skills of a tenant by its manifest. */
export type ReadInstalled = (manifest: Manifest) => InstalledSkills;

/** Puts the skills of tenants together; once for each manifest, so once for all tenants that have changed nothing. */
export function readInstalled(catalog: SkillCatalog): ReadInstalled {
  const known = new WeakMap<Manifest, InstalledSkills>();
  return (manifest) => {
    const found = known.get(manifest);
    if (found !== undefined) return found;
    const byName = installedSkills(manifest, catalog);
    const installed = { byName, list: [...byName.values()].map(({ summary }) => summary) };
    known.set(manifest, installed);
    return installed;
  };
}

/**
 * What the tenant has written, and the built-in skills that it has neither written over nor deleted, as far as 500 in
 * all allow; by name. Pure.
 */
export function installedSkills(
  manifest: Manifest,
  catalog: SkillCatalog,
): ReadonlyMap<string, InstalledSkill> {
  const own = [...manifest.skills].filter(([name, entry]) => !isCopy(name, entry, catalog));
  const names = new Set(own.map(([name]) => name));
  const shared = [...catalog.skills.values()].filter(
    ({ name }) => !names.has(name) && !manifest.removed.has(name),
  );
  const all = [
    ...own.map(([name, entry]) => installed(name, entry, undefined)),
    ...shared
      .slice(0, MAX_SKILLS - own.length)
      .map((builtin) => installed(builtin.name, builtinEntry(builtin), builtin)),
  ];
  return new Map(all.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function installed(name: string, entry: SkillEntry, shared: BuiltinSkill | undefined) {
  const skill: InstalledSkill = { entry, summary: summaryOf(name, entry), shared };
  return [name, skill] as const;
}

/** True for a built-in skill of which the tenant has a copy, untouched: earlier versions gave each tenant one. Pure. */
export function isCopy(name: string, entry: SkillEntry, catalog: SkillCatalog): boolean {
  return entry.source === 'builtin' && !entry.user_modified && catalog.skills.has(name);
}

/** The entry of a built-in skill that the tenant has not touched. */
function builtinEntry({ description, version, sha256 }: BuiltinSkill): SkillEntry {
  return { description, version, sha256, source: 'builtin', user_modified: false };
}
