import type { SkillCatalog } from '../../plugins/records/services/skills/skill-text.ts';
import type { GeneratedFile } from './generated-file.ts';
import { replaceMarked, tableRow } from './marked-part.ts';

/** The table of the built-in skills in docs/skills.md, by name, between its two markers. */
export function skillsTableFile({ skills }: Pick<SkillCatalog, 'skills'>): GeneratedFile {
  const file = 'docs/skills.md';
  const lines = [...skills.values()].map(({ name, description }) =>
    tableRow(`[${name}](../plugins/records/skills/${name}/SKILL.md)`, description),
  );
  const table = [tableRow('Skill', 'When an agent uses it'), '|---|---|', ...lines].join('\n');
  return { path: file, render: (current) => replaceMarked(file, 'skills', current, table) };
}
