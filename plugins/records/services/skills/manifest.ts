import { compileSchema, parsedJson, Type } from 'agent-gateway';
import type { Static } from 'typebox';
import type { SkillSummary } from '../../contract.ts';
import { isSkillName } from './skill-text.ts';

/** Skills that a tenant may have. */
export const MAX_SKILLS = 500;
/** Of the form below. A gateway that reads a larger number leaves the file alone. */
const VERSION = 1;

const Entry = Type.Object({
  description: Type.String(),
  version: Type.String(),
  source: Type.Enum(['builtin', 'user']),
  user_modified: Type.Boolean(),
  /** Of the text that was stored. */
  sha256: Type.String(),
  /** What the body says, for finding it (`keptTerms`). Absent in manifests of earlier versions. */
  terms: Type.Optional(Type.String()),
});

const File = Type.Object({
  version: Type.Integer(),
  skills: Type.Record(Type.String(), Entry),
  removed: Type.Array(Type.String()),
  rebuilt: Type.Optional(Type.Boolean()),
});
const checkFile = compileSchema(File);

/** What the manifest says about a skill. */
export type SkillEntry = Static<typeof Entry>;

/**
 * What a tenant has changed, `skills.json`: its own skills and its own texts of built-in ones, with the contents of
 * their front matter. A skill that is in neither list is as it comes with the gateway.
 */
export interface Manifest {
  readonly skills: ReadonlyMap<string, SkillEntry>;
  /** Built-in skills that the tenant has deleted: they do not come back. */
  readonly removed: ReadonlySet<string>;
  /**
   * It was put together from the objects, in place of one that was damaged or with texts that could not be read. So it
   * may lack skills, and a text that it does not name may be one of them.
   */
  readonly isRebuilt?: boolean;
}

/** The manifest of a tenant that has changed nothing. */
export const EMPTY_MANIFEST: Manifest = { skills: new Map(), removed: new Set() };

/** Reads a manifest. `newer`: a later version of the gateway wrote it. `damaged`: it is none. */
export function parseManifest(text: string): Manifest | 'newer' | 'damaged' {
  const value = parsedJson(text);
  const { version } = (value ?? {}) as { readonly version?: unknown };
  if (Number.isInteger(version) && (version as number) > VERSION) return 'newer';
  if (checkFile(value).length > 0) return 'damaged';
  const { skills, removed, rebuilt = false } = value as Static<typeof File>;
  const entries = Object.entries(skills);
  if (entries.length > MAX_SKILLS || !entries.every(([name]) => isSkillName(name))) return 'damaged';
  // One object for all tenants that have changed nothing, so that everything derived from it is computed once.
  if (entries.length === 0 && removed.length === 0 && !rebuilt) return EMPTY_MANIFEST;
  return { skills: new Map(entries), removed: new Set(removed), ...(rebuilt && { isRebuilt: true }) };
}

/** The text of a manifest; parsing gives the same manifest again. */
export function printManifest({ skills, removed, isRebuilt }: Manifest): string {
  return JSON.stringify({
    version: VERSION,
    skills: Object.fromEntries(skills),
    removed: [...removed].sort(),
    rebuilt: isRebuilt,
  });
}

/** The manifest with one skill more, or another entry for it. */
export function withSkill(manifest: Manifest, name: string, entry: SkillEntry): Manifest {
  return { ...manifest, skills: new Map(manifest.skills).set(name, entry) };
}

/**
 * The manifest without a skill; `isRemembered`: the manifest notes the deletion, so that the built-in skill does not
 * come back.
 */
export function withoutSkill(manifest: Manifest, name: string, isRemembered: boolean): Manifest {
  const skills = new Map(manifest.skills);
  skills.delete(name);
  return {
    ...manifest,
    skills,
    removed: isRemembered ? new Set(manifest.removed).add(name) : manifest.removed,
  };
}

/** The entry after an upload: a built-in skill stays one, but no synchronization touches it any more. */
export function uploaded(
  previous: SkillEntry | undefined,
  text: Pick<SkillEntry, 'description' | 'version' | 'sha256' | 'terms'>,
): SkillEntry {
  return { ...text, source: previous?.source ?? 'user', user_modified: true };
}

/** A skill as lists show it. */
export function summaryOf(name: string, entry: SkillEntry): SkillSummary {
  const { description, version, source, user_modified: userModified } = entry;
  return { name, description, version, source, userModified };
}
