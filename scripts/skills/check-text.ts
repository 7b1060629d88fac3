import { access } from 'node:fs/promises';
import path from 'node:path';
import type { SkillFile } from './skill-files.ts';
import { partsOf, quotedIn, type SkillParts } from './skill-parts.ts';

const MAX_DESCRIPTION = 160;
const BODY_LINES = { least: 60, most: 200 };
/** The sections that a body has, in this order; other sections may stand between them. */
const SECTIONS = ['Before you begin', 'Procedure', 'Example', 'Pitfalls', 'Checks'];
const LEAST_STEPS = 3;

/** The names that texts may refer to. */
export interface KnownNames {
  readonly skills: ReadonlySet<string>;
  readonly tools: ReadonlySet<string>;
}

/** Everything that is wrong with the form of a skill and with the names in it, each in words. */
export async function textProblems(skill: SkillFile, known: KnownNames): Promise<readonly string[]> {
  const parts = partsOf(skill.body);
  return [
    ...headProblems(skill),
    ...bodyProblems(parts),
    ...nameProblems(skill.name, parts, known),
    ...(await linkProblems(skill.file, parts)),
  ];
}

function headProblems({ name, description, version }: SkillFile): string[] {
  const problems: string[] = [];
  if (!/^[a-z0-9-]+$/.test(name)) problems.push('the name must be of a-z, 0-9 and -');
  if (version !== '1.0.0') problems.push(`the version is ${version}, not 1.0.0`);
  if (description.length > MAX_DESCRIPTION) {
    problems.push(
      `the description has ${description.length} characters, at most ${MAX_DESCRIPTION} are allowed`,
    );
  }
  if (!/^[^.!?]+(?:[.!?]\S[^.!?]*)*[.!?]$/.test(description)) {
    problems.push('the description must be one sentence, with a full stop at its end and no other');
  }
  return problems;
}

function bodyProblems({ lines, headings, prose, openFence, fences }: SkillParts): string[] {
  const problems: string[] = [];
  if (lines.length < BODY_LINES.least || lines.length > BODY_LINES.most) {
    problems.push(`the body has ${lines.length} lines, not ${BODY_LINES.least} to ${BODY_LINES.most}`);
  }
  if (openFence !== undefined) problems.push(`nothing closes the fence of line ${openFence}`);
  if (!/^# \S/.test(lines[0] ?? '')) problems.push('the body must begin with a heading: # Title');
  if (headings.filter((heading) => heading.startsWith('# ')).length > 1)
    problems.push('there are two titles');
  if (!/^\*\*Not for:\*\*/m.test(prose)) problems.push('there is no paragraph that begins with **Not for:**');
  const found = headings.map((heading) => heading.replace(/^#+ /, ''));
  const order = SECTIONS.map((section) => found.indexOf(section));
  for (const [index, section] of SECTIONS.entries()) {
    if (order[index] === -1) problems.push(`there is no section ## ${section}`);
  }
  const there = order.filter((at) => at >= 0);
  if (there.some((at, index) => index > 0 && at < there[index - 1]!)) {
    problems.push(`the sections must come in this order: ${SECTIONS.join(', ')}`);
  }
  const steps = [...sectionOf(prose, 'Procedure').matchAll(/^(\d+)\. /gm)].map(([, number]) =>
    Number(number),
  );
  if (steps.length < LEAST_STEPS || steps.some((step, index) => step !== index + 1)) {
    problems.push(`the procedure must have ${LEAST_STEPS} steps or more, numbered from 1 without a gap`);
  }
  if (!/^- \[ \] /m.test(sectionOf(prose, 'Checks')))
    problems.push('the checks must be a list of - [ ] lines');
  if (fences.some(({ info }) => /^(?:call|result)\b/.test(info) && !/^(?:call \w+|result)$/.test(info))) {
    problems.push('a fence of an example is "call <tool>" or "result"');
  }
  return problems;
}

/** The text of a section, without that of the next one; empty for none. */
function sectionOf(prose: string, title: string): string {
  const start = prose.indexOf(`## ${title}\n`);
  if (start === -1) return '';
  const end = prose.indexOf('\n## ', start + 3);
  return prose.slice(start, end === -1 ? undefined : end);
}

/**
 * Between backticks `word-word` is a skill and `word_word` a tool, unless it is a name out of a fenced block of the
 * same text: a column of a table, a program.
 */
function nameProblems(own: string, { prose, fences }: SkillParts, { skills, tools }: KnownNames): string[] {
  const fenced = fences.map(({ text }) => text).join('\n');
  const quoted = new Set(quotedIn(prose));
  const problems: string[] = [];
  for (const name of quoted) {
    if (name === own) problems.push(`it refers to itself: ${name}`);
    if (/^[a-z]+(?:-[a-z]+)+$/.test(name) && !skills.has(name) && !fenced.includes(name)) {
      problems.push(`there is no skill ${name}`);
    }
    if (/^[a-z]+(?:_[a-z]+)+$/.test(name) && !tools.has(name) && !fenced.includes(name)) {
      problems.push(`there is no tool ${name}`);
    }
  }
  return problems;
}

/** Links to files have to lead to a file; of links to the web only the form is checked. */
async function linkProblems(file: string, { prose }: SkillParts): Promise<string[]> {
  const problems: string[] = [];
  for (const [, target] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target!)) {
      if (!target!.startsWith('https://') || !URL.canParse(target!))
        problems.push(`the link ${target} is no https address`);
      continue;
    }
    const linked = path.resolve(path.dirname(file), target!.replace(/#.*$/, ''));
    const isThere = await access(linked).then(
      () => true,
      () => false,
    );
    if (!isThere) problems.push(`the link ${target} leads nowhere`);
  }
  return problems;
}
