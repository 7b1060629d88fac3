import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';

/** An MCP server with a few tools, for tests. `client` is what the server knows about who calls. */
export function createMcpTools(client: Readonly<Record<string, unknown>>): McpServer {
  const server = new McpServer({ name: 'test-tools', version: '1.0.0' });
  server.registerTool(
    'add',
    {
      description: 'Adds two numbers',
      inputSchema: fromJsonSchema<{ a: number; b: number }>({
        type: 'object',
        properties: { a: { type: 'number' }, b: { type: 'number' } },
        required: ['a', 'b'],
      }),
    },
    ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }),
  );
  server.registerTool('client', { description: 'Tells what the server knows of its client' }, () => ({
    content: [{ type: 'text', text: JSON.stringify(client) }],
  }));
  server.registerTool('broken', { description: 'Fails' }, () => ({
    content: [{ type: 'text', text: 'It is broken.' }],
    isError: true,
  }));
  server.registerTool('learn', { description: 'Gives the server another tool' }, () => {
    server.registerTool('learned', { description: 'Was not there before' }, () => ({
      content: [{ type: 'text', text: 'It was learned.' }],
    }));
    return { content: [] };
  });
  server.registerTool('long', { description: 'Says more than a message may have' }, () => ({
    content: [{ type: 'text', text: 'x'.repeat(5 * 1024 * 1024) }],
  }));
  server.registerTool('slow', { description: 'Never ends' }, () => new Promise(() => {}));
  return server;
}
