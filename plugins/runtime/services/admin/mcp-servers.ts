import { defineErrors, type FieldError, type Resources } from 'agent-gateway';
import type { McpServerInfo, McpServers } from '../../../agent-engine/contract.ts';
import { whyNotOurs, writeOwnFile } from './own-file.ts';
import { newYaml } from './resource-yaml.ts';

/** The errors of the administration of MCP servers, in addition to `resource.*`. */
export const McpAdminErrors = defineErrors({
  invalid: { code: 'mcp.server-invalid', kind: 'invalid', title: 'The MCP server is not valid' },
  exists: { code: 'mcp.server-exists', kind: 'conflict', title: 'There is an MCP server of this name' },
  notFound: { code: 'mcp.server-not-found', kind: 'not-found', title: 'There is no such MCP server' },
  sharedFile: { code: 'mcp.shared-file', kind: 'conflict', title: 'The file of the server is not its own' },
});

/** The kind of the resources. */
const KIND = 'McpServer';

export type McpAdministration = ReturnType<typeof createMcpAdministration>;

/**
 * The MCP servers of the deployment, which are files of agents.d. Changes are for operators: the routes have checked
 * the caller.
 */
export function createMcpAdministration(parts: {
  readonly mcpServers: McpServers;
  readonly resources: Pick<Resources, 'source' | 'write' | 'remove'>;
}) {
  const { mcpServers, resources } = parts;
  return {
    list: mcpServers.list,
    tools: mcpServers.tools,

    /** Throws `mcp.server-exists`, `mcp.server-invalid` and `resource.not-writable`. */
    async create({ name, ...spec }: McpServerInfo): Promise<void> {
      if (resources.source(KIND, name) !== undefined) throw McpAdminErrors.exists();
      const file = { file: `mcp-${name}.yaml`, yaml: newYaml(KIND, name, { spec }) };
      await writeOwnFile(resources, file, (problems) =>
        McpAdminErrors.invalid(undefined, { errors: problems.map(inBody) }),
      );
    },

    /** Throws `mcp.server-not-found`, `mcp.shared-file` and `resource.not-writable`. */
    async remove(name: string): Promise<void> {
      const source = resources.source(KIND, name);
      if (source === undefined) throw McpAdminErrors.notFound();
      const why = whyNotOurs(source);
      if (why !== undefined) throw McpAdminErrors.sharedFile(why);
      await resources.remove(source.file);
    },
  };
}

/** Converts a problem of the document to one at the place of the body from which it comes. */
function inBody({ pointer, message }: FieldError): FieldError {
  return { pointer: pointer.replace(/^\/(?:spec|metadata)(?=\/|$)/, '/body'), message };
}
