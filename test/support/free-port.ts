import { once } from 'node:events';
import net from 'node:net';

/** Below what Linux (32768 on) and macOS (49152 on) give to connections and to servers that ask for any port. */
const PORTS = { first: 12_000, count: 20_000 };

/**
 * A port of the loopback interface at which nothing listened a moment ago. No other process is given it unasked, so
 * that it stays free until its caller listens there, and while his server starts again.
 */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port!;
}

/** As many of them, each another one: who starts at the same time as others has to know their addresses. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const held = new Map<number, net.Server>();
  while (held.size < count) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count);
    const server = await listenAt(port);
    if (server !== undefined) held.set(port, server);
  }
  for (const server of held.values()) await once(server.close(), 'close');
  return [...held.keys()];
}

/** Undefined where the port is taken. */
async function listenAt(port: number): Promise<net.Server | undefined> {
  const server = net.createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
  return server;
}
