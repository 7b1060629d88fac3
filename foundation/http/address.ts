import type { AddressInfo, Server } from 'node:net';

/** An address to listen on, and the variable that sets it. */
export interface Address {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly variable: string;
  /** The variable that sets the host, where that is another one. */
  readonly hostVariable?: string;
}

/** An address cannot be had: says which plugin wants it, and which variable moves it. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  readonly address: Address;

  constructor(address: Address, message: string, cause: unknown) {
    super(message, { cause });
    this.address = address;
  }
}

/** `host:port` for callers on this machine, with the port that the system chose. */
export function reachableAt(server: Server | undefined, address: Address): string {
  const port = (server?.address() as AddressInfo | null | undefined)?.port ?? address.port;
  const host = address.host === '0.0.0.0' || address.host === '::' ? '127.0.0.1' : address.host;
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Failures that another port may get rid of; all others are of the host. */
const OF_THE_PORT: ReadonlySet<string> = new Set(['EADDRINUSE', 'EACCES']);

/** The system does not tell by whom: `0.0.0.0:8080` takes `127.0.0.1:8080`, too, also before a change has ended it. */
const TAKEN = 'is taken by another process, or by another address of this gateway';

/** Binds the address for `owner`. @throws ListenError */
export function listen(server: Server, address: Address, owner: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const where = `${address.host}:${address.port}`;
  server.once('error', (cause: NodeJS.ErrnoException) => {
    const why = cause.code === 'EADDRINUSE' ? TAKEN : `cannot be bound (${cause.code})`;
    const { variable, hostVariable = variable } = address;
    const setBy = OF_THE_PORT.has(cause.code ?? '') ? variable : hostVariable;
    const message = `${owner}: the address ${where} ${why}; set ${setBy}`;
    reject(new ListenError(address, message, cause));
  });
  server.listen({ host: address.host, port: address.port, backlog: 1024 }, resolve);
  return promise;
}
