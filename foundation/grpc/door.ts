import { createServer, type Socket } from 'node:net';
import { closeServer } from '../http/acceptors.ts';
import { type Address, listen, reachableAt } from '../http/address.ts';
import { connectionsOf } from '../http/connections.ts';
import type { Logger } from '../observability/logger.ts';

/** An open address whose connections are handed on. */
export type Door = Awaited<ReturnType<typeof openDoor>>;

/** What a door is opened with. */
interface DoorParts {
  readonly connected: (socket: Socket) => void;
  readonly isTls?: boolean;
  readonly log: Pick<Logger, 'info' | 'debug'>;
}

/** Binds the address for `owner`. @throws ListenError */
export async function openDoor(
  address: Address,
  owner: string,
  { connected, isTls = false, log }: DoorParts,
) {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', (err) => log.debug({ err }, 'a gRPC connection failed'));
    connected(socket);
  });
  const sockets = connectionsOf(server);
  await listen(server, address, owner);
  const reachable = reachableAt(server, address);
  log.info({ address: reachable, owner, tls: isTls }, 'listening for gRPC');
  return {
    /** `127.0.0.1:50051`, with the real port. */
    address: reachable,
    /** Stops accepting; resolves when all connections are gone. */
    close: () => closeServer(server),
    /** Cuts the connections that there are. */
    cut(): void {
      for (const socket of sockets) socket.destroy();
    },
  };
}
