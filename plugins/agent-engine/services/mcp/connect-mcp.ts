import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { DEFAULT_INHERITED_ENV_VARS, StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { McpEndpoint } from './mcp-connections.ts';

/** Where programs are looked for; nothing else of the gateway's environment is passed on. */
const PATH = '/usr/local/bin:/usr/bin:/bin';
/** Bytes of one message of a program. */
const MAX_MESSAGE = 4 * 1024 * 1024;
/** Pages of a list of tools at most. */
const MAX_PAGES = 10;
/** Milliseconds until a server has answered the handshake. */
const CONNECT_MS = 10_000;

/**
 * Connects to an MCP server, of the newest or an older revision. Rejects with the library's errors. Close the client in any case. The transports
 * follow redirects within the origin only.
 *
 * @param version the gateway's, which it tells the server
 */
export async function connectMcp(
  endpoint: McpEndpoint,
  version: string,
  signal: AbortSignal,
): Promise<Client> {
  const client = new Client(
    { name: 'agent-gateway', version },
    {
      listMaxPages: MAX_PAGES,
      versionNegotiation: { mode: endpoint.transport === 'http' ? 'auto' : 'legacy' },
    },
  );
  try {
    await client.connect(transportOf(endpoint), { signal, timeout: CONNECT_MS });
  } catch (error) {
    await client.close();
    throw error;
  }
  return client;
}

function transportOf(endpoint: McpEndpoint) {
  if (endpoint.transport === 'stdio') {
    const { command, args, env } = endpoint;
    return new StdioClientTransport({
      command,
      args: [...args],
      env: onlyThese({ PATH, ...env }),
      stderr: 'ignore',
      maxBufferSize: MAX_MESSAGE,
    });
  }
  const options = { requestInit: { headers: { ...endpoint.headers } } };
  const url = new URL(endpoint.url);
  return endpoint.transport === 'sse'
    ? new SSEClientTransport(url, options)
    : new StreamableHTTPClientTransport(url, options);
}

/** The library adds variables of its own to the environment; those that are undefined do not reach the program. */
function onlyThese(env: Readonly<Record<string, string>>): Record<string, string> {
  const nothing = Object.fromEntries(DEFAULT_INHERITED_ENV_VARS.map((name) => [name, undefined]));
  return { ...nothing, ...env } as Record<string, string>;
}
