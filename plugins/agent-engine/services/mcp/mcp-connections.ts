import type { Client } from '@modelcontextprotocol/client';
import { type Clock, defineErrors, GatewayError } from 'agent-gateway';

/** Tenants that are connected to one server at one time. */
const MAX_CONNECTIONS = 64;
/** Milliseconds after which an unused connection is closed. */
const IDLE_MS = 300_000;

interface Connection {
  readonly client: Promise<Client>;
  users: number;
  usedAt: number;
}

/**
 * What a failed request says of its connection. `answer`: the server's own words. `harmless`: nothing. `too-long`: the
 * call was carried out, and its result is not read. `refused`: the connection is unusable, and nothing was done.
 * `broken`: the connection is unusable, and what was done is not known.
 */
export type McpFailure = 'answer' | 'harmless' | 'too-long' | 'refused' | 'broken';

/** What connections are made with. */
export interface McpConnectionsParts {
  /** The name of the server. */
  readonly server: string;
  readonly open: () => Promise<Client>;
  readonly failureOf: (error: unknown) => Promise<McpFailure>;
  readonly clock: Clock;
}

/** Connections of one server, one for each tenant: what a server keeps about a connection is never another tenant's. */
export type McpConnections = ReturnType<typeof createMcpConnections>;

/** Keeps the connections. */
export function createMcpConnections({ server, open, failureOf, clock }: McpConnectionsParts) {
  const connections = new Map<string, Connection>();

  function forget(tenantId: string, connection: Connection): void {
    if (connections.get(tenantId) === connection) connections.delete(tenantId);
  }

  async function close(tenantId: string, connection: Connection): Promise<void> {
    forget(tenantId, connection);
    const client = await connection.client.catch(() => undefined);
    await client?.close();
  }

  /** Not awaited: a server that does not close must not hold up another tenant. */
  function closeAside(tenantId: string, connection: Connection): void {
    close(tenantId, connection).catch(() => {});
  }

  function makeRoom(): void {
    if (connections.size < MAX_CONNECTIONS) return;
    const unused = [...connections].filter(([, { users }]) => users === 0);
    const [oldest] = unused.sort(([, a], [, b]) => a.usedAt - b.usedAt);
    if (oldest === undefined) throw McpErrors.busy();
    closeAside(...oldest);
  }

  function connect(tenantId: string): Connection {
    const known = connections.get(tenantId);
    if (known !== undefined) return known;
    makeRoom();
    const connection: Connection = { client: open(), users: 0, usedAt: clock.monotonic() };
    connections.set(tenantId, connection);
    const gone = () => forget(tenantId, connection);
    // When a connection breaks, the next call makes a new one.
    connection.client.then((client) => {
      client.onclose = gone;
    }, gone);
    return connection;
  }

  async function attempt<T>(tenantId: string, work: (client: Client) => Promise<T>): Promise<T> {
    const connection = connect(tenantId);
    connection.users += 1;
    try {
      const client = await connection.client.catch((cause: unknown) => {
        throw McpErrors.unavailable(`The MCP server "${server}" is not available.`, { cause });
      });
      return await work(client);
    } catch (error) {
      const failure = error instanceof GatewayError ? 'harmless' : await failureOf(error);
      // A server that was restarted does not know the connection, so every later call on it would fail.
      if (failure === 'refused' || failure === 'broken') forget(tenantId, connection);
      throw error;
    } finally {
      connection.users -= 1;
      connection.usedAt = clock.monotonic();
      if (connection.users === 0 && connections.get(tenantId) !== connection)
        closeAside(tenantId, connection);
    }
  }

  return {
    /**
     * Runs `work` on the tenant's connection, which is made when there is none, and once more on a new one where the
     * server refused the old one. Throws what `work` throws, `mcp.unavailable` and `mcp.busy`.
     */
    async use<T>(tenantId: string, work: (client: Client) => Promise<T>): Promise<T> {
      const isNew = !connections.has(tenantId);
      try {
        return await attempt(tenantId, work);
      } catch (error) {
        if (isNew || error instanceof GatewayError || (await failureOf(error)) !== 'refused') throw error;
        return attempt(tenantId, work);
      }
    },
    /** Closes connections that were not used for a while. */
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
