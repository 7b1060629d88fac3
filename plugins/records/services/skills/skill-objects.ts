import { forEachLimited, ObjectErrors, type ObjectInfo, type ObjectSpace } from 'agent-gateway';
import { EMPTY_MANIFEST, MAX_SKILLS, type Manifest, type SkillEntry } from './manifest.ts';
import { keptTerms } from './skill-search.ts';
import { digestOf, isSkillName, MAX_SKILL_BYTES, readSkill, type SkillCatalog } from './skill-text.ts';

/** The key of a tenant's manifest. */
export const MANIFEST_KEY = 'skills.json';
/** The key of a tenant's personality file. */
export const SOUL_KEY = 'SOUL.md';
/** What skills and SOUL.md are stored as. */
export const MARKDOWN = 'text/markdown; charset=utf-8';

/** What the keys of skills begin with. */
export const SKILL_FOLDER = 'skills/';
const FILE = '/SKILL.md';
/** Pages of a list that a rebuild reads: strangers may have put other objects there. */
const MAX_PAGES = 10;
/** Skills that a rebuild reads at one time. */
const PARALLEL = 8;

/** The key of a skill; the name was checked before. */
export function skillKey(name: string): string {
  return `${SKILL_FOLDER}${name}${FILE}`;
}

/** The name of the skill that has this key; undefined for a key that no skill can have. */
export function nameOfSkill(key: string): string | undefined {
  const name = key.slice(SKILL_FOLDER.length, -FILE.length);
  return key === skillKey(name) && isSkillName(name) ? name : undefined;
}

/** A whole object as text, with its version. Throws `objects.too-large` above `limit` bytes. */
export async function readVersion(
  space: ObjectSpace,
  key: string,
  limit: number,
): Promise<{ readonly text: string; readonly info: ObjectInfo } | undefined> {
  const found = await space.get(key);
  if (found === undefined) return undefined;
  if (found.info.size > limit) {
    found.body.destroy();
    throw ObjectErrors.tooLarge(`The object has more than ${limit} bytes`);
  }
  const pieces: Buffer[] = [];
  for await (const piece of found.body) pieces.push(piece);
  return { text: Buffer.concat(pieces).toString(), info: found.info };
}

/**
 * The manifest rebuilt from the objects themselves, for a tenant whose `skills.json` is missing or damaged. A text that
 * equals a built-in one is a redundant copy; any other one is the tenant's own. Which built-in skills were deleted is
 * no longer known. Names whose text is not a valid SKILL.md are passed to `skip`.
 */
export async function manifestOfObjects(
  space: ObjectSpace,
  catalog: SkillCatalog,
  skip: (name: string) => void,
): Promise<Manifest> {
  const names = await storedNames(space);
  if (names.length === 0) return EMPTY_MANIFEST;
  const skills = new Map<string, SkillEntry>();
  await forEachLimited(names, PARALLEL, async (name) => {
    const entry = await entryOf(space, catalog, name);
    if (entry === undefined) skip(name);
    else skills.set(name, entry);
  });
  return { skills, removed: new Set() };
}

async function storedNames(space: ObjectSpace): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of storedSkills(space, MAX_PAGES)) if (names.push(name) === MAX_SKILLS) break;
  return names;
}

/** The skills whose text is stored, in the manifest or not; of the first pages of the list, where `pages` is given. */
export async function* storedSkills(
  space: ObjectSpace,
  pages = Number.POSITIVE_INFINITY,
): AsyncGenerator<{ readonly name: string; readonly modifiedAt: Date }> {
  let after: string | undefined;
  for (let page = 0; page < pages; page += 1) {
    const { objects, next } = await space.list(SKILL_FOLDER, after === undefined ? {} : { after });
    for (const { key, modifiedAt } of objects) {
      const name = nameOfSkill(key);
      if (name !== undefined) yield { name, modifiedAt };
    }
    if (next === undefined) return;
    after = next;
  }
}

async function entryOf(
  space: ObjectSpace,
  catalog: SkillCatalog,
  name: string,
): Promise<SkillEntry | undefined> {
  const found = await readVersion(space, skillKey(name), MAX_SKILL_BYTES).catch((error: unknown) => {
    if (!ObjectErrors.tooLarge.is(error)) throw error;
    return undefined;
  });
  const reading = found && readSkill(name, found.text);
  if (found === undefined || reading === undefined || 'problems' in reading) return undefined;
  const sha256 = digestOf(found.text);
  const builtin = catalog.skills.get(name);
  return {
    ...reading.head,
    sha256,
    terms: keptTerms(reading.body),
    source: builtin === undefined ? 'user' : 'builtin',
    user_modified: builtin?.sha256 !== sha256,
  };
}
