import type { Server } from 'node:http';
import type { Socket, Server as SocketServer } from 'node:net';
import { TransientSet } from '../base/transient.ts';
import { closeServer } from './acceptors.ts';

/** Milliseconds between looks for connections that have become idle while a server closes. */
const IDLE_SWEEP = 25;

/** The connections of a server that are open from now on, those included that Node no longer counts among its own. */
export function connectionsOf(server: SocketServer): Iterable<Socket> {
  const sockets = new TransientSet<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

/**
 * Stops accepting; a connection that stays open between requests is closed at the end of the one it is serving.
 * Resolves when all are closed.
 *
 * @param sockets those of `connectionsOf`
 */
export async function closeGracefully(server: Server, sockets: Iterable<Socket>): Promise<void> {
  const closed = closeServer(server);
  const closeIdle = () => {
    server.closeIdleConnections();
    // Node takes a connection that was opened in advance for a request that is about to come.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  };
  const sweep = setInterval(closeIdle, IDLE_SWEEP);
  closeIdle();
  await closed;
  clearInterval(sweep);
}
