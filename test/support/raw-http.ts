import { once } from 'node:events';
import net from 'node:net';

/** A TCP connection on which a test says exactly what it wants. */
export interface RawConnection {
  write(text: string | Uint8Array): void;
  /** Everything received so far. */
  received(): string;
  /** True once the server has closed it, or broke it off. */
  readonly isClosed: boolean;
  /** Resolves when the server has closed it. */
  readonly closed: Promise<void>;
  destroy(): void;
}

/** Connects to the server behind `url`. */
export async function connect(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = net.connect({ host: hostname, port: Number(port), noDelay: true });
  let text = '';
  let isClosed = false;
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  await once(socket, 'connect');
  // A reset is as good an end as any.
  socket.on('error', () => {});
  socket.once('close', () => {
    isClosed = true;
    resolve();
  });
  return {
    write: (bytes) => void socket.write(bytes),
    received: () => text,
    get isClosed() {
      return isClosed;
    },
    closed,
    destroy: () => socket.destroy(),
  };
}

/**
 * Says `text` on a connection of its own and returns what came until the server closed it; `text` should ask for that.
 */
export async function exchange(url: string, text: string | Uint8Array): Promise<string> {
  const connection = await connect(url);
  connection.write(text);
  await connection.closed;
  return connection.received();
}

/** The status of a raw response; `undefined` when there is none. */
export function statusOf(received: string): number | undefined {
  const status = /^HTTP\/1\.1 (\d{3})/.exec(received)?.[1];
  return status === undefined ? undefined : Number(status);
}
