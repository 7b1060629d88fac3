import { defineErrors } from 'agent-gateway';

/** What can go wrong with MCP servers. The words reach the model that called the tool. */
export const McpErrors = defineErrors({
  unavailable: { code: 'mcp.unavailable', kind: 'upstream', title: 'The MCP server is not available' },
  busy: { code: 'mcp.busy', kind: 'unavailable', title: 'Too many tenants use the MCP server' },
});
