import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createMcpTools } from './mcp-tools.ts';

// An MCP server that speaks over its standard input and output, and tells its environment.
serveStdio(() => createMcpTools({ env: process.env, pid: process.pid }));
