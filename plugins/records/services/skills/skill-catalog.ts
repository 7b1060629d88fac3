import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { digestOf, isSkillName, readSkill, type SkillHead } from './skill-text.ts';

/** A skill that comes with the gateway. */
export interface BuiltinSkill extends SkillHead {
  readonly name: string;
  readonly text: string;
  readonly sha256: string;
}

/** What every tenant gets. */
export interface SkillCatalog {
  /** Another content has another id: tenants that got this one have all of it. */
  readonly id: string;
  /** By name. */
  readonly skills: ReadonlyMap<string, BuiltinSkill>;
  /** The default SOUL.md. */
  readonly soul: string;
}

/** Where this build keeps its skills: `<name>/SKILL.md`, and `SOUL.md`. */
export const BUILTIN_FOLDER = path.join(import.meta.dirname, '../../skills');

/** Makes a catalog. Throws an Error naming the skill that is none: the build is wrong then. */
export function createCatalog(texts: ReadonlyMap<string, string>, soul: string): SkillCatalog {
  const skills = new Map<string, BuiltinSkill>();
  for (const [name, text] of [...texts].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!isSkillName(name)) throw new Error(`${name} is no name of a skill`);
    const reading = readSkill(name, text);
    if ('problems' in reading) {
      const reasons = reading.problems.map(({ message }) => message);
      throw new Error(`the built-in skill ${name}: ${reasons.join('; ')}`);
    }
    skills.set(name, { ...reading.head, name, text, sha256: digestOf(text) });
  }
  const id = digestOf(JSON.stringify([soul, ...[...skills].map(([name, { sha256 }]) => [name, sha256])]));
  return { id, skills, soul };
}

/** Reads the catalog from a folder. Throws when a file cannot be read, and like `createCatalog`. */
export async function readCatalog(folder: string): Promise<SkillCatalog> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const texts = await Promise.all(
    names.map(async (name) => [name, await readFile(path.join(folder, name, 'SKILL.md'), 'utf8')] as const),
  );
  return createCatalog(new Map(texts), await readFile(path.join(folder, 'SOUL.md'), 'utf8'));
}
