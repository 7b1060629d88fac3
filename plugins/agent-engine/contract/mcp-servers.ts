import { serviceRef } from 'agent-gateway';
import type { ToolInfo } from './tools.ts';

/** An MCP server of agents.d as its file describes it: values of `headers` and `env` are references to secrets. */
export interface McpServerInfo {
  readonly name: string;
  readonly transport: 'http' | 'sse' | 'stdio';
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The MCP servers of the deployment. */
export interface McpServers {
  /** By name. */
  list(): readonly McpServerInfo[];
  /**
   * The tools that a server has for a tenant now, 128 at most; connects where there is no connection yet. Throws
   * `mcp.server-not-found`, and `mcp.unavailable` also when the server does not answer within 15 seconds.
   */
  tools(tenantId: string, name: string, signal: AbortSignal): Promise<readonly ToolInfo[]>;
}

/** The MCP servers, for plugins that administer them. */
export const McpServersRef = serviceRef<McpServers>('agent-engine.mcp-servers');
