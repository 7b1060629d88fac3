import type { CallToolResult } from '@modelcontextprotocol/client';
import { GatewayError, orAborted, type ResourceLease, type ResourceView } from 'agent-gateway';
import type {
  McpServerSpec,
  McpServers,
  ParameterSchema,
  ToolContext,
  ToolResult,
  ToolSource,
} from '../../contract.ts';
import { McpErrors, type McpFailure } from './mcp-connections.ts';
import type { McpServer } from './mcp-server.ts';

/**
 * The tools of all MCP servers of agents.d; a fresh array at each call. A call holds the version of the server that it
 * began with.
 */
export function mcpToolSources(servers: ResourceView<McpServer>): () => readonly ToolSource[] {
  return () => servers.list().map(({ name }) => mcpToolSource(name, servers));
}

/** The tools of one server. */
export function mcpToolSource(server: string, servers: ResourceView<McpServer>): ToolSource {
  const prefix = `mcp://${server}/`;
  return {
    prefix,
    async list(tenantId, signal) {
      using lease = hold(server, servers);
      const { timeoutMs } = lease.value;
      const tools = await lease.value.tools(tenantId, signal);
      return tools.map(({ name, title, description, inputSchema }) => ({
        ref: `${prefix}${name}`,
        name,
        description: description ?? title ?? name,
        parameters: inputSchema as ParameterSchema,
        timeoutMs,
        async invoke(input, context) {
          using held = hold(server, servers);
          return await call(server, held.value, { name, arguments: { ...input } }, context);
        },
      }));
    },
  };
}

/** Milliseconds for connecting and listing. */
const LIST_MS = 15_000;

/** The servers for other plugins. */
export function mcpServers(servers: ResourceView<McpServer>): McpServers {
  const list = async (name: string, tenantId: string, signal: AbortSignal) =>
    mcpToolSource(name, servers).list(tenantId, signal);

  return {
    list: () => servers.list().map(({ name, resource }) => ({ name, ...(resource.spec as McpServerSpec) })),
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

async function call(
  server: string,
  { timeoutMs, use, failureOf, hide }: McpServer,
  asked: { readonly name: string; readonly arguments: Record<string, unknown> },
  { principal, signal, log }: ToolContext,
): Promise<ToolResult> {
  const options = { signal, timeout: timeoutMs, maxTotalTimeout: timeoutMs };
  try {
    return toolResult(await use(principal.tenantId, (client) => client.callTool(asked, options)), hide);
  } catch (error) {
    signal.throwIfAborted();
    const failure = error instanceof GatewayError ? undefined : await failureOf(error);
    // What the server says about the arguments helps the model to do better; what broke on the way is the operator's
    // business.
    if (failure === 'answer') return { content: hide((error as Error).message), isError: true };
    log.warn({ err: error, mcp_server: server, tool: asked.name }, 'a call of an MCP server failed');
    if (failure === 'too-long') return { content: TOO_LONG, isError: true };
    if (failure === undefined) throw error;
    throw McpErrors.unavailable(WORDS[failure](server), { cause: error });
  }
}

/** For the model, and for people who read its conversation: is it of use to try again? */
const WORDS: Readonly<Record<Exclude<McpFailure, 'answer' | 'too-long'>, (server: string) => string>> = {
  refused: (server) => `The MCP server "${server}" is not available.`,
  broken: (server) =>
    `The connection to the MCP server "${server}" broke. Whether the call was carried out is not known.`,
  harmless: (server) => `The MCP server "${server}" gave no answer that can be used.`,
};

const TOO_LONG =
  'The call was carried out, but its result is larger than 4 MiB, so it was not read. Do not repeat the call as it is: ask for less.';

function hold(server: string, servers: ResourceView<McpServer>): ResourceLease<McpServer> {
  const lease = servers.acquire(server);
  if (lease === undefined) throw McpErrors.unavailable(`There is no MCP server "${server}" any more.`);
  return lease;
}

/** The one text that `connectMcp` makes of a result. */
function toolResult({ content, isError = false }: CallToolResult, hide: McpServer['hide']): ToolResult {
  return { content: hide(content.map((part) => ('text' in part ? part.text : '')).join('\n')), isError };
}
