import { createHash } from 'node:crypto';
import type { Database, Objects } from 'agent-gateway';
import type { Memories, SkillSummary, Skills } from '../../../records/contract.ts';
import type { Guard, Tool, ToolSource } from '../../contract.ts';
import { builtinTool } from './builtin-tool.ts';
import { memoryTools } from './memory-tools.ts';

const NO_ARGUMENTS = { type: 'object', properties: {}, additionalProperties: false } as const;
const PREFIX = 'skill_';
/** Characters of a tool's name. */
const MAX_TOOL_NAME = 64;

/** Characters of a search. */
const MAX_QUERY = 1_000;

/** The tools with which a model finds a skill of its tenant that fits its task, and reads its instructions. */
export function skillTools({ skills }: { readonly skills: Skills }): readonly Tool[] {
  return [
    builtinTool({
      name: 'find_skill',
      description:
        'Finds installed skills, which are instructions for kinds of tasks, by what is to be done. Call it before a task of some size for which no skill is ' +
        'listed. Returns JSON: skills, each with name and description, the best first; an empty list when nothing fits. Read one with load_skill.',
      properties: {
        query: {
          type: 'string',
          minLength: 1,
          maxLength: MAX_QUERY,
          description:
            'The task in a sentence, in the words of the user and in English: "review a lease before signing it".',
        },
      },
      required: ['query'],
      invoke: async ({ query }, { principal }) => {
        const found = await skills.find(principal.tenantId, typeof query === 'string' ? query : '');
        const shown = found.map(({ name, description }) => ({ name, description }));
        return { content: JSON.stringify({ skills: shown }) };
      },
    }),
    builtinTool({
      name: 'load_skill',
      description:
        'Reads the instructions of an installed skill. Call it before a task that the description of a skill fits, then do what the ' +
        'instructions say. Returns Markdown.',
      properties: {
        name: {
          type: 'string',
          minLength: 1,
          maxLength: 64,
          description: 'The name, as the list of skills or find_skill shows it.',
        },
      },
      required: ['name'],
      invoke: async ({ name }, { principal }) => ({
        content: await skills.instructions(principal.tenantId, typeof name === 'string' ? name : ''),
      }),
    }),
  ];
}

/** Each skill of a tenant as a tool without arguments, for agents that name the skills they use: `skill://<name>`. */
export function skillSource({ skills }: { readonly skills: Skills }): ToolSource {
  return {
    prefix: 'skill://',
    list: async (tenantId) => (await skills.list(tenantId)).map((summary) => toolOf(skills, summary)),
  };
}

/** What a model calls a skill. Names that are too long keep their beginning and are distinguished by a digest. */
export function skillToolName(name: string): string {
  if (PREFIX.length + name.length <= MAX_TOOL_NAME) return PREFIX + name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${PREFIX}${name.slice(0, MAX_TOOL_NAME - PREFIX.length - 1 - digest.length)}_${digest}`;
}

function toolOf(skills: Skills, { name, description }: SkillSummary): Tool {
  return {
    ref: `skill://${name}`,
    name: skillToolName(name),
    description: `Reads the instructions of the skill ${name}; then do what they say. ${description}`,
    parameters: NO_ARGUMENTS,
    invoke: async (_input, { principal }) => ({
      content: await skills.instructions(principal.tenantId, name),
    }),
  };
}

/**
 * The tools for what `records` keeps: memory tools, and, with object storage, `find_skill`, `load_skill` and
 * `skill://<name>`.
 */
export function recordTools(parts: {
  readonly memories: Memories;
  readonly skills: Skills;
  readonly database: Pick<Database, 'forTenant'>;
  readonly objects: Pick<Objects, 'available'>;
  readonly guard: Pick<Guard, 'redact'>;
}): readonly ToolSource[] {
  const hasSkills = parts.objects.available;
  const builtin = [...memoryTools(parts), ...(hasSkills ? skillTools(parts) : [])];
  return [{ prefix: 'builtin/', list: () => builtin }, ...(hasSkills ? [skillSource(parts)] : [])];
}
