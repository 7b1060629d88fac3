import { once } from 'node:events';
import { type AddressInfo, createServer, type ListenOptions, type Server } from 'node:net';

/**
 * Listening sockets of an address. Node takes one connection from each in a turn of its event loop, and with hundreds
 * of streams a turn lasts 20 ms and more: clients that come back together, after a restart for example, would wait for
 * seconds until the last is served.
 */
const SOCKETS = 16;
/** Connections that may wait at each of them. */
const BACKLOG = 1024;
/** Of systems that cannot spread the connections of an address among several sockets (all but Linux and some BSDs). */
const NOT_SUPPORTED: ReadonlySet<unknown> = new Set(['ENOTSUP', 'EINVAL', 'ENOPROTOOPT']);

/** The further servers of an address, which hand their connections over to its first one. */
const further = new WeakMap<Server, readonly Server[]>();

/** Lets a server listen at an address that nobody else has. Throws what binding it throws: `EADDRINUSE`. */
export async function bind(server: Server, host: string, port: number): Promise<void> {
  // Sockets that share an address do not find out that it is another process's as well.
  if (port !== 0) {
    const probe = createServer();
    await listening(probe, { host, port });
    probe.close();
  }
  try {
    await listening(server, { host, port, reusePort: true });
  } catch (error) {
    if (!NOT_SUPPORTED.has((error as NodeJS.ErrnoException).code)) throw error;
    await listening(server, { host, port });
    return;
  }
  const chosen = server.address() as AddressInfo;
  const acceptors = Array.from({ length: SOCKETS - 1 }, () => acceptorOf(server));
  further.set(server, acceptors);
  try {
    await Promise.all(
      acceptors.map((one) => listening(one, { host: chosen.address, port: chosen.port, reusePort: true })),
    );
  } catch (error) {
    void closeServer(server);
    throw error;
  }
}

/** Stops accepting at once; resolves when all connections have ended. */
export async function closeServer(server: Server): Promise<void> {
  const servers = [server, ...(further.get(server) ?? [])];
  await Promise.all(servers.map((one) => new Promise<void>((resolve) => one.close(() => resolve()))));
}

/** A server that treats its connections as `server` does, which has said how when it was made. */
function acceptorOf(server: Server): Server {
  const { allowHalfOpen, noDelay } = server as Server & { allowHalfOpen: boolean; noDelay: boolean };
  return createServer({ allowHalfOpen, noDelay }, (socket) => void server.emit('connection', socket));
}

async function listening(server: Server, options: ListenOptions): Promise<void> {
  server.listen({ ...options, backlog: BACKLOG });
  await once(server, 'listening');
}
