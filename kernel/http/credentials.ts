import type { IncomingMessage } from 'node:http';
import type { Credentials } from '../auth/authenticator.ts';
import { isLoopbackCaller } from './source-address.ts';

/** What an HTTP request presents to the authentication chain. */
export class HttpCredentials implements Credentials {
  readonly bearer: string | undefined;
  readonly method: string;
  readonly path: string;
  readonly #request: IncomingMessage;

  constructor(request: IncomingMessage, path: string) {
    this.#request = request;
    this.bearer = bearerOf(request.headers.authorization);
    this.method = request.method ?? 'GET';
    this.path = path;
  }

  get loopback(): boolean {
    return isLoopbackCaller(this.#request);
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name.toLowerCase()];
    return Array.isArray(value) ? value[0] : value;
  }

  cookie(name: string): string | undefined {
    for (const part of this.#request.headers.cookie?.split(';') ?? []) {
      const equals = part.indexOf('=');
      if (equals > 0 && part.slice(0, equals).trim() === name) return part.slice(equals + 1).trim();
    }
    return undefined;
  }
}

/** The token of `Authorization: Bearer <token>` (RFC 6750); the scheme's case does not matter. */
function bearerOf(header: string | undefined): string | undefined {
  if (header === undefined || header.length < 8) return undefined;
  if (header.slice(0, 7).toLowerCase() !== 'bearer ') return undefined;
  return header.slice(7).trim();
}
