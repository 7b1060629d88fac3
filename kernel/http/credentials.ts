import { cookieOf } from '../../foundation/http/cookies.ts';
import { headerOf, textHeaderOf } from '../../foundation/http/headers.ts';
import { type AddressedRequest, isLoopbackCaller } from '../../foundation/http/source-address.ts';
import type { PresentedCredentials } from '../auth/authenticator.ts';

/** What a call presents to the authentication chain in its headers (of gRPC: its metadata). */
export class HeaderCredentials implements PresentedCredentials {
  readonly bearer: string | undefined;
  readonly method: string;
  readonly path: string;
  readonly target: string;
  readonly readBody: (() => Promise<Buffer>) | undefined;
  readonly #request: AddressedRequest;

  constructor(
    request: AddressedRequest,
    method: string,
    { path, target }: { readonly path: string; readonly target: string },
    readBody?: () => Promise<Buffer>,
  ) {
    this.#request = request;
    this.bearer = bearerOf(headerOf(request.headers, 'authorization'));
    this.method = method;
    this.path = path;
    this.target = target;
    this.readBody = readBody;
  }

  get loopback(): boolean {
    return isLoopbackCaller(this.#request);
  }

  // Not methods: authenticators take the credentials apart.
  readonly header = (name: string): string | undefined => textHeaderOf(this.#request.headers, name);

  readonly cookie = (name: string): string | undefined =>
    cookieOf(headerOf(this.#request.headers, 'cookie'), name);
}

/** The token of `Authorization: Bearer <token>` (RFC 6750); the scheme's case does not matter. */
function bearerOf(header: string | undefined): string | undefined {
  if (header === undefined || header.length < 8) return undefined;
  if (header.slice(0, 7).toLowerCase() !== 'bearer ') return undefined;
  return header.slice(7).trim();
}
