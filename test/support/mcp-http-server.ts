import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { createMcpTools } from './mcp-tools.ts';

/** An MCP server on a free port of the loopback interface, over Streamable HTTP. */
export interface McpHttpServer extends AsyncDisposable {
  readonly url: string;
  /** The headers of each request so far. */
  readonly requests: readonly http.IncomingHttpHeaders[];
  /** Tells its clients that it has other tools. */
  toolsChanged(): void;
}

/** Starts it. */
export async function startMcpHttpServer(): Promise<McpHttpServer> {
  const requests: http.IncomingHttpHeaders[] = [];
  const handler = createMcpHandler(() => createMcpTools({ transport: 'http' }));
  const server = http.createServer(async (message, response) => {
    requests.push(message.headers);
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk as Buffer);
    const hasBody = message.method !== 'GET' && message.method !== 'DELETE';
    const answer = await handler.fetch(
      new Request(`http://127.0.0.1${message.url}`, {
        method: message.method ?? 'GET',
        headers: message.headers as Record<string, string>,
        ...(hasBody && { body: Buffer.concat(chunks) }),
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests,
    toolsChanged: () => handler.notify.toolsChanged(),
    async [Symbol.asyncDispose]() {
      await handler.close();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
