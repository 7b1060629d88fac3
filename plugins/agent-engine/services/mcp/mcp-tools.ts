import type { Tool as McpTool } from '@modelcontextprotocol/client';
import type { ResourceLease, ResourceView } from 'agent-gateway';
import type { ParameterSchema, Tool, ToolContext, ToolResult, ToolSource } from '../../contract.ts';
import { McpErrors } from './errors.ts';
import { mcpContent } from './mcp-content.ts';
import type { McpServer } from './mcp-server.ts';

/** The tools of all MCP servers of agents.d; a fresh array at each call. A call holds the version of the server that it began with. */
export function mcpToolSources(servers: ResourceView<McpServer>): () => readonly ToolSource[] {
  return () => servers.list().map(({ name }) => source(name, servers));
}

function source(server: string, servers: ResourceView<McpServer>): ToolSource {
  const prefix = `mcp://${server}/`;
  return {
    prefix,
    async list(tenantId, signal) {
      using lease = hold(server, servers);
      const tools = await lease.value.tools(tenantId, signal);
      return tools.map((tool) => toTool(tool, { server, prefix, servers, timeoutMs: lease.value.timeoutMs }));
    },
  };
}

function toTool(
  { name, title, description, inputSchema }: McpTool,
  from: { server: string; prefix: string; servers: ResourceView<McpServer>; timeoutMs: number },
): Tool {
  return {
    ref: `${from.prefix}${name}`,
    name,
    description: description ?? title ?? name,
    parameters: inputSchema as ParameterSchema,
    timeoutMs: from.timeoutMs,
    invoke: (input, context) => call(name, input, context, from.server, from.servers),
  };
}

async function call(
  name: string,
  input: Readonly<Record<string, unknown>>,
  { principal, signal }: ToolContext,
  server: string,
  servers: ResourceView<McpServer>,
): Promise<ToolResult> {
  using lease = hold(server, servers);
  const { timeoutMs } = lease.value;
  return lease.value.use(principal.tenantId, async (client) => {
    try {
      const options = { signal, timeout: timeoutMs, maxTotalTimeout: timeoutMs };
      return mcpContent(await client.callTool({ name, arguments: { ...input } }, options));
    } catch (error) {
      signal.throwIfAborted();
      // What the server says about the arguments helps the model to do better; what broke on the way is nobody's business.
      const { ProtocolError } = await import('@modelcontextprotocol/client');
      if (error instanceof ProtocolError) return { content: error.message, isError: true };
      throw McpErrors.unavailable(undefined, { cause: error });
    }
  });
}

function hold(server: string, servers: ResourceView<McpServer>): ResourceLease<McpServer> {
  const lease = servers.acquire(server);
  if (lease === undefined) throw McpErrors.unavailable(`There is no MCP server "${server}" any more.`);
  return lease;
}
