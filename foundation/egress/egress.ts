import type { Readable } from 'node:stream';
import type { EgressHeaders, HeaderFields } from './headers.ts';
import type { EgressRules } from './rules.ts';

/**
 * The one way out for requests to an address that a tenant, a model or a remote party chose (decisions 1.12). Every
 * request, redirects included, passes the tenant's rules, and goes to a public address that was checked, or to what the
 * operator opened with `SVC_EGRESS_ALLOW_PRIVATE`. Connections are never shared between tenants. What is denied is in
 * the audit log.
 */
export interface Egress {
  /**
   * Sends a request of a tenant and resolves with the head of the answer, whatever its status. The caller reads the
   * body or destroys it.
   *
   * @throws egress.denied (403), recorded; egress.malformed (400); egress.unreachable, egress.response-too-large,
   * egress.too-many-redirects, egress.bad-redirect (502); egress.busy (503); egress.timeout (504); and the reason of
   * `signal`. The body fails with the same errors.
   */
  request(tenantId: string, request: EgressRequest): Promise<EgressResponse>;
  /**
   * The same as a standard `fetch`, for libraries that take one. It throws the errors of `request`, and ignores what is
   * about browsers (`mode`, `credentials`, `cache`, `integrity`, `keepalive`). A body that is no stream is kept for
   * redirects.
   */
  fetchFor(tenantId: string, context?: EgressContext): typeof globalThis.fetch;
  /**
   * Checks an address when it is registered (webhook, node of the hub): throws what a request would throw, resolves the
   * name, but connects to nothing and records nothing. It says nothing about later requests, each of which is checked
   * again.
   */
  check(tenantId: string, url: string): Promise<void>;
  /** The rules of tenants. */
  readonly rules: EgressRules;
  /** Breaks open requests and closes all connections; later requests throw `gateway.draining`. */
  close(): Promise<void>;
}

/** How long and how large an exchange may become. */
export interface EgressLimits {
  /** Milliseconds for the whole exchange, the last byte of the body included; default 30,000. */
  readonly timeout?: number | undefined;
  /**
   * For long streams: milliseconds that the other side may be silent in the body while it is being read. `timeout` then
   * ends with the head of the answer, and a body that is not read stays open until its reader destroys it.
   */
  readonly bodyTimeout?: number | undefined;
  /** Decoded bytes of the body at most; default 10 MiB. */
  readonly maxBytes?: number | undefined;
}

/** What holds for all requests of one caller. */
export interface EgressContext extends EgressLimits {
  /** For the record of a denial: the request that this one serves. */
  readonly requestId?: string | undefined;
  /** For the record of a denial: who asked for it. */
  readonly userId?: string | undefined;
  readonly sessionId?: string | undefined;
  /**
   * What the request is counted under instead of its tenant, as to how many may be open at one time. For a part of the
   * gateway that itself bounds how many requests it has open to each of many receivers, so that those of them that hang
   * keep no other from being called.
   */
  readonly account?: string | undefined;
}

/** A request of a tenant. */
export interface EgressRequest extends EgressContext {
  /** Absolute, http or https, without user name and password. */
  readonly url: string | URL;
  /** Default `GET`; CONNECT and TRACE are refused. */
  readonly method?: string | undefined;
  /** `host` is refused; fields of the connection and `content-length` are left out. */
  readonly headers?: EgressHeaders | undefined;
  /**
   * Not with GET and HEAD. A stream is sent once: it cannot follow a 307 or 308. It is destroyed when the request
   * fails.
   */
  readonly body?: string | Uint8Array | Readable | null | undefined;
  /** `follow` (default), `manual` (the redirect is the answer), or `error` (`egress.bad-redirect`). */
  readonly redirect?: 'follow' | 'manual' | 'error' | undefined;
  /** Redirects that are followed at most; default 5. */
  readonly redirects?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The head of an answer, and its body to be read. */
export interface EgressResponse {
  readonly status: number;
  readonly statusText: string;
  /**
   * Lower-case names, without the fields of the connection, and without length and coding of a body that was decoded.
   */
  readonly headers: HeaderFields;
  /** Decoded (gzip, deflate, br), with backpressure. Empty for HEAD, 204, 205 and 304. */
  readonly body: Readable;
  /** Where the answer comes from, after redirects. */
  readonly url: string;
  readonly redirected: boolean;
}

/** What became of a request, for metrics. */
export type EgressResult =
  | 'answered'
  | 'denied'
  | 'malformed'
  | 'unreachable'
  | 'timeout'
  | 'aborted'
  | 'busy'
  | 'failed';

/** Bounds of the egress service in one process; times in milliseconds. */
export const DEFAULT_BOUNDS = {
  /** How long a name may take to be resolved. */
  dnsTimeout: 5_000,
  /** Names that are resolved at one time. */
  maxLookups: 256,
  /** How long a connection may take to open, name and TLS included. */
  connectTimeout: 10_000,
  /** Requests that a tenant may have open, above it `egress.busy`. */
  openPerTenant: 64,
  /** Requests of all tenants that may be open. */
  open: 1_024,
  /** Connections of a tenant to one origin. Requests beyond them wait, within their own deadline. */
  connectionsPerOrigin: 16,
  /** Origins of a tenant, and of all tenants, to which unused connections are kept. */
  idleOriginsPerTenant: 8,
  idleOrigins: 256,
  /** How long an unused connection is kept at most. */
  keepAlive: 10_000,
};

/** The same with other values. */
export type EgressBounds = Readonly<typeof DEFAULT_BOUNDS>;
