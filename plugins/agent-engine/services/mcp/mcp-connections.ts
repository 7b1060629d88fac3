import type { Client } from '@modelcontextprotocol/client';
import { type Clock, defineErrors } from 'agent-gateway';

/** Tenants that are connected to one server at one time. */
const MAX_CONNECTIONS = 64;
/** Milliseconds after which an unused connection is closed. */
const IDLE_MS = 300_000;

interface Connection {
  readonly client: Promise<Client>;
  users: number;
  usedAt: number;
}

/** Connections of one server, one for each tenant: what a server keeps about a connection is never another tenant's. */
export type McpConnections = ReturnType<typeof createMcpConnections>;

/** Keeps the connections; `open` makes one. */
export function createMcpConnections(open: () => Promise<Client>, clock: Clock) {
  const connections = new Map<string, Connection>();

  async function close(tenantId: string, connection: Connection): Promise<void> {
    if (connections.get(tenantId) === connection) connections.delete(tenantId);
    const client = await connection.client.catch(() => undefined);
    await client?.close();
  }

  function makeRoom(): void {
    if (connections.size < MAX_CONNECTIONS) return;
    const unused = [...connections].filter(([, { users }]) => users === 0);
    const [oldest] = unused.sort(([, a], [, b]) => a.usedAt - b.usedAt);
    if (oldest === undefined) throw McpErrors.busy();
    // Nobody waits for it: a server that does not let itself be closed must not hold up another tenant.
    close(...oldest).catch(() => {});
  }

  function connect(tenantId: string): Connection {
    const known = connections.get(tenantId);
    if (known !== undefined) return known;
    makeRoom();
    const connection: Connection = { client: open(), users: 0, usedAt: clock.monotonic() };
    connections.set(tenantId, connection);
    const forget = () => {
      if (connections.get(tenantId) === connection) connections.delete(tenantId);
    };
    // A connection that breaks is made anew by the next call.
    connection.client.then((client) => {
      client.onclose = forget;
    }, forget);
    return connection;
  }

  return {
    /** Runs `work` on the tenant's connection, which is made when there is none. Throws `mcp.unavailable`, `mcp.busy`. */
    async use<T>(tenantId: string, work: (client: Client) => Promise<T>): Promise<T> {
      const connection = connect(tenantId);
      connection.users += 1;
      try {
        const client = await connection.client.catch((cause: unknown) => {
          throw McpErrors.unavailable(undefined, { cause });
        });
        return await work(client);
      } finally {
        connection.users -= 1;
        connection.usedAt = clock.monotonic();
      }
    },
    /** Closes what nobody used for a while. */
    async sweep(): Promise<void> {
      const end = clock.monotonic() - IDLE_MS;
      const idle = [...connections].filter(([, { users, usedAt }]) => users === 0 && usedAt <= end);
      await Promise.all(idle.map(([tenantId, connection]) => close(tenantId, connection)));
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await Promise.all([...connections].map(([tenantId, connection]) => close(tenantId, connection)));
    },
  };
}

/** What can go wrong with MCP servers. The words reach the model that called the tool. */
export const McpErrors = defineErrors({
  unavailable: { code: 'mcp.unavailable', kind: 'upstream', title: 'The MCP server is not available' },
  notFound: { code: 'mcp.server-not-found', kind: 'not-found', title: 'There is no such MCP server' },
  busy: { code: 'mcp.busy', kind: 'unavailable', title: 'Too many tenants use the MCP server' },
});

/** How an MCP server is reached, references resolved. */
export type McpEndpoint =
  | {
      readonly transport: 'http' | 'sse';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    }
  | {
      readonly transport: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    };
