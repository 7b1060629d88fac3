import type { Ids, ResourceView } from 'agent-gateway';
import { ToolErrors, type Tools } from '../../contract.ts';
import { NO_GUARDS } from '../guard/chat/chat-guards.ts';
import type { ArgumentCheck } from '../tools/argument-check.ts';
import { isToolRef, matchesRef, type ToolCatalog } from '../tools/tool-catalog.ts';
import type { AgentDefinition } from './agent-resource.ts';
import { type ExecutionParts, execute } from './execute.ts';

/** What the tools are shown and run with. */
export interface ToolsParts extends ExecutionParts {
  readonly toolCatalog: ToolCatalog;
  readonly checkArguments: ArgumentCheck;
  readonly ids: Ids;
  /**
   * The live resources of the kind Agent: a tool that one of them may use with an approval only cannot be called here.
   */
  readonly agents: Pick<ResourceView<AgentDefinition>, 'list'>;
}

/** The tools for other plugins. */
export function openTools(parts: ToolsParts): Tools {
  const { toolCatalog, checkArguments, ids, agents } = parts;

  const needsApproval = (tool: { readonly ref: string }) =>
    agents
      .list()
      .some(({ value }) =>
        value.tools?.some(({ ref, requiresApproval }) => requiresApproval && matchesRef(tool, ref)),
      );

  return {
    async list(tenantId, signal) {
      const { tools } = await toolCatalog.offer({ tenantId, signal });
      return tools.map(({ name, tool: { ref, description, parameters } }) => ({
        ref,
        name,
        description,
        parameters,
      }));
    },
    async invoke({ tool: wanted, parameters, context }) {
      const { signal, principal } = context;
      // A ref says whose tool it is: another server that hangs does not hold up its call.
      const wishes =
        isToolRef(wanted) && !isSkill(wanted) ? [{ ref: wanted, requiresApproval: false }] : undefined;
      const { tools } = await toolCatalog.offer({ tenantId: principal.tenantId, signal, wishes });
      const offered =
        tools.find(({ tool }) => tool.ref === wanted) ?? tools.find(({ name }) => name === wanted);
      if (offered === undefined)
        throw ToolErrors.notFound(`There is no tool "${wanted.slice(0, 100).toWellFormed()}".`);
      const { tool } = offered;
      if (needsApproval(tool)) throw ToolErrors.needsApproval();
      const given = JSON.stringify(parameters);
      const checked = checkArguments(tool, given);
      if ('problems' in checked) {
        const errors = checked.problems.map((message) => ({ pointer: '/body/parameters', message }));
        throw ToolErrors.parametersInvalid(undefined, { errors });
      }
      const call = {
        id: ids.uuid(),
        type: 'function',
        function: { name: offered.name, arguments: given },
      } as const;
      const step = { call, position: '1', status: { is: 'open' } } as const;
      // `allow`: a question is returned as a question, not as an error result.
      const done = await execute(
        parts,
        { context, pauses: 'allow', guards: NO_GUARDS },
        { path: [] },
        step,
        tool,
        checked.input,
      );
      if ('question' in done) throw ToolErrors.asks();
      return done.outcome;
    },
  };
}

/** The tool of a single skill is offered only to agents that name it, so it is in no list. */
function isSkill(ref: string): boolean {
  return ref.startsWith('skill://');
}
