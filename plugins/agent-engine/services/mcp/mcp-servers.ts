import { GatewayError, orAborted, type ResourceView } from 'agent-gateway';
import type { McpServers } from '../../contract.ts';
import type { McpServerSpec } from '../../kinds/mcp-server.ts';
import { McpErrors } from './mcp-connections.ts';
import type { McpServer } from './mcp-server.ts';
import { mcpToolSource } from './mcp-tools.ts';

/** Milliseconds for connecting and listing. */
const LIST_MS = 15_000;

/** The servers for other plugins. */
export function mcpServers(servers: ResourceView<McpServer>): McpServers {
  const list = async (name: string, tenantId: string, signal: AbortSignal) =>
    mcpToolSource(name, servers).list(tenantId, signal);

  return {
    list: () =>
      servers.list().map(({ name, resource }) => {
        const { timeout: _, ...spec } = resource.spec as McpServerSpec;
        return { name, ...spec };
      }),
    async tools(tenantId, name, signal) {
      if (servers.get(name) === undefined) throw McpErrors.notFound();
      const end = AbortSignal.any([signal, AbortSignal.timeout(LIST_MS)]);
      try {
        const tools = await orAborted(list(name, tenantId, end), end);
        return tools.map(({ ref, name, description, parameters }) => ({
          ref,
          name,
          description,
          parameters,
        }));
      } catch (cause) {
        signal.throwIfAborted();
        throw cause instanceof GatewayError ? cause : McpErrors.unavailable(undefined, { cause });
      }
    },
  };
}
