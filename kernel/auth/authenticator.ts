import type { GatewayError } from '../../foundation/base/gateway-error.ts';
import type { Identity } from '../access/identity.ts';

/** What a transport found in a request. HTTP and gRPC share it; none of it may reach a log. */
export interface Credentials {
  /** The token of `Authorization: Bearer <token>`; `undefined` without that header or with another scheme. */
  readonly bearer?: string;
  /** A header (gRPC: metadata entry) by its lower-case name. */
  header(name: string): string | undefined;
  /** A cookie by name. */
  cookie(name: string): string | undefined;
  /** The HTTP method; `POST` for gRPC. */
  readonly method: string;
  /** The path without its query; the full method name for gRPC. */
  readonly path: string;
  /** The path with its query, as it came: what callers sign. The same as `path` for gRPC. */
  readonly target: string;
  /** True for a connection from the loopback interface without forwarding headers (decisions 0.2). */
  readonly loopback: boolean;
}

/** What the chain is asked with. */
export interface PresentedCredentials extends Credentials {
  /** Reads the body, once, however often it is called. Absent where it cannot be read ahead (`BodyAuthenticator`). */
  readonly readBody?: (() => Promise<Buffer>) | undefined;
}

/** Credentials of a request with its body. */
export interface SignedCredentials extends Credentials {
  /** As it came, within the `bodyLimit` of the route; empty where there is none. */
  readonly body: Buffer;
}

/** Why a credential does not hold. Callers get the same error for all of them; the audit record has the difference. */
export type FailureReason = 'unknown' | 'revoked' | 'expired' | 'invalid' | 'tenant';

/** A credential that was recognized and refused, with whom it belonged to where that is known. */
export interface AuthenticationFailure {
  readonly failure: FailureReason;
  readonly tenantId?: string;
  readonly identityId?: string;
  /** What is wrong, for the log and the audit record of the operator, without a value of the credential. */
  readonly reason?: string;
  /** The error for the caller, where the credential holds and only the call does not; default `auth.invalid` (401). */
  readonly error?: GatewayError;
}

/** `undefined`: not mine, ask the next. Anything else ends the chain. */
export type Outcome = { readonly identity: Identity } | AuthenticationFailure | undefined;

/** Where clients put a credential that is no bearer token. */
export interface CredentialPlace {
  readonly in: 'header' | 'cookie';
  readonly name: string;
}

/**
 * One kind of credential. It first looks cheaply whether the request carries its kind, and leaves what it does not
 * recognize to the next. It throws only when it cannot decide (its database is away): the request then fails.
 */
export interface Authenticator {
  /** Unique in the chain; shows the operator which authenticator refused. */
  readonly name: string;
  /** For the OpenAPI document; default: `Authorization: Bearer <token>`. */
  readonly places?: readonly CredentialPlace[];
  readonly needsBody?: false;
  /** Synchronous wherever possible: this runs before every request. Never keeps or logs the credential. */
  authenticate(credentials: Credentials): Outcome | Promise<Outcome>;
}

/**
 * A kind of credential that signs the body (HMAC of a webhook). It is asked for requests that have one of its `places`,
 * and no other request is read ahead; the body is read before anything is known of the caller, at most `bodyLimit`
 * bytes of it. It is not asked for forms, mounted routers and gRPC, whose bodies are streams.
 */
export interface BodyAuthenticator extends Pick<Authenticator, 'name'> {
  readonly needsBody: true;
  /** Where the signature is: one at least. */
  readonly places: readonly CredentialPlace[];
  authenticate(credentials: SignedCredentials): Outcome | Promise<Outcome>;
}

/** Every kind of credential that a plugin may bring. */
export type AnyAuthenticator = Authenticator | BodyAuthenticator;
