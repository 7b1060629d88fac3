import type { Database, Objects } from 'agent-gateway';
import type { Memories, Skills } from '../../../records/contract.ts';
import type { Guard, ToolSource } from '../../contract.ts';
import { memoryTools } from './memory-tools.ts';
import { skillSource, skillTools } from './skill-tools.ts';

/** The tools for what `records` keeps: memory tools, and, with object storage, `load_skill` and `skill://<name>`. */
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
