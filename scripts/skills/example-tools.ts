import { systemClock } from '../../foundation/base/clock.ts';
import { DEFAULT_SANDBOX_POLICY, type Sandbox, type Tool } from '../../plugins/agent-engine/contract.ts';
import { builtinTools } from '../../plugins/agent-engine/services/tools/builtin-tools.ts';
import { executeCode } from '../../plugins/agent-engine/services/tools/execute-code.ts';
import { memoryTools } from '../../plugins/agent-engine/services/tools/memory-tools.ts';
import { skillTools } from '../../plugins/agent-engine/services/tools/skill-tools.ts';
import { startWorkflowSource } from '../../plugins/workflow/services/tools/start-workflow.ts';

/** Stands for the parts of tools whose names and arguments are checked, but that are not run. */
const UNUSED = undefined as never;

/** Every built-in tool, by name. `calculator` runs, and `execute_code` where the sandbox does. */
export async function exampleTools(sandbox: Sandbox): Promise<ReadonlyMap<string, Tool>> {
  const { signal } = new AbortController();
  const policies = { of: () => DEFAULT_SANDBOX_POLICY };
  const sources = [
    builtinTools({ clock: systemClock, egress: UNUSED }),
    executeCode({ sandbox, policies, overheadMs: 5_000 }),
    startWorkflowSource({ engine: UNUSED, definitions: UNUSED, nested: new WeakSet() }),
  ];
  const listed = await Promise.all(sources.map((source) => source.list('tenant', signal)));
  const tools = [
    ...listed.flat(),
    ...memoryTools({ memories: UNUSED, database: UNUSED, guard: UNUSED }),
    ...skillTools({ skills: UNUSED }),
  ];
  return new Map(tools.map((tool) => [tool.name, tool]));
}
