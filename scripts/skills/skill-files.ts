import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { readSkill } from '../../plugins/records/services/skills/skill-text.ts';

/** A SKILL.md on disk. */
export interface SkillFile {
  /** Of its folder. */
  readonly name: string;
  readonly file: string;
  readonly description: string;
  readonly version: string;
  /** Without the front matter, and without blank lines before and after. */
  readonly body: string;
}

/** A SKILL.md that cannot be read, and why. */
export interface UnreadableSkill {
  readonly name: string;
  readonly problems: readonly string[];
}

/** The skills of a folder, each in a folder of its name; by name. */
export async function readSkillFiles(
  folder: string,
): Promise<{ readonly skills: readonly SkillFile[]; readonly unreadable: readonly UnreadableSkill[] }> {
  const skills: SkillFile[] = [];
  const unreadable: UnreadableSkill[] = [];
  const entries = await readdir(folder, { withFileTypes: true });
  for (const { name } of entries.filter((entry) => entry.isDirectory())) {
    const file = path.join(folder, name, 'SKILL.md');
    const text = await textOf(file);
    const reading = text === undefined ? undefined : readSkill(name, text);
    if (reading === undefined) unreadable.push({ name, problems: ['there is no SKILL.md'] });
    else if ('problems' in reading) {
      unreadable.push({ name, problems: reading.problems.map(({ message }) => message) });
    } else skills.push({ name, file, ...reading.head, body: reading.body.trim() });
  }
  const byName = (a: { readonly name: string }, b: { readonly name: string }) => (a.name < b.name ? -1 : 1);
  return { skills: skills.sort(byName), unreadable: unreadable.sort(byName) };
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
