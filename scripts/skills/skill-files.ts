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

/** The skills of some folders, by name. A folder that is not there has none. Rejects for a skill's folder without a SKILL.md. */
export async function readSkillFiles(
  folders: readonly string[],
): Promise<{ readonly skills: readonly SkillFile[]; readonly unreadable: readonly UnreadableSkill[] }> {
  const skills: SkillFile[] = [];
  const unreadable: UnreadableSkill[] = [];
  for (const folder of folders) {
    for (const name of await foldersIn(folder)) {
      const file = path.join(folder, name, 'SKILL.md');
      const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
        return undefined;
      });
      if (text === undefined) {
        unreadable.push({ name, problems: ['there is no SKILL.md'] });
        continue;
      }
      const reading = readSkill(name, text);
      if ('problems' in reading) {
        unreadable.push({ name, problems: reading.problems.map(({ message }) => message) });
      } else {
        skills.push({ name, file, ...reading.head, body: reading.body.trim() });
      }
    }
  }
  const byName = (a: { readonly name: string }, b: { readonly name: string }) => (a.name < b.name ? -1 : 1);
  return { skills: skills.sort(byName), unreadable: unreadable.sort(byName) };
}

async function foldersIn(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
