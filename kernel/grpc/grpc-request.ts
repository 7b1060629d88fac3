import type { AddressedRequest } from '../http/source-address.ts';
import type { Exchange } from './exchange.ts';

/** The metadata of a call as headers of an HTTP request, so that credentials, traces and addresses are read by the same code. */
export class GrpcRequest implements AddressedRequest {
  readonly socket: { readonly remoteAddress: string | undefined };
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Bytes of all names and values. */
  readonly size: number;

  constructor({ request, remoteAddress }: Exchange) {
    this.socket = { remoteAddress };
    const headers: Record<string, string | undefined> = {};
    const entries = request.getMap();
    let size = 0;
    for (const name in entries) {
      const value = entries[name]!;
      size += name.length + value.length;
      if (typeof value === 'string') headers[name] = value;
    }
    this.size = size;
    this.headers = headers;
  }
}
