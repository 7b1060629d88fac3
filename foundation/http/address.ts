import type { AddressInfo, Server } from 'node:net';
import { bind } from './acceptors.ts';

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
export async function listen(server: Server, address: Address, owner: string): Promise<void> {
  const { host, port, variable, hostVariable = variable } = address;
  try {
    await bind(server, host, port);
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? TAKEN : `cannot be bound (${code})`;
    const setBy = OF_THE_PORT.has(code) ? variable : hostVariable;
    throw new ListenError(address, `${owner}: the address ${host}:${port} ${why}; set ${setBy}`, cause);
  }
}
