import type { AuditExtra } from '../../foundation/audit/audit-entry.ts';
import { asGatewayError } from '../../foundation/base/error-catalogue.ts';
import { GatewayError } from '../../foundation/base/gateway-error.ts';
import type { AbortableCall } from '../../foundation/base/in-flight.ts';
import { type Headers, headerOf, textHeaderOf } from '../../foundation/http/headers.ts';
import { type AddressedRequest, isLoopbackCaller } from '../../foundation/http/source-address.ts';
import type { RequestTrace } from '../../foundation/observability/tracing.ts';
import { ANONYMOUS, type Identity } from '../access/identity.ts';
import type { AuthenticationFailure, PresentedCredentials } from '../auth/authenticator.ts';
import type { TenantRecord } from '../tenancy/tenants.ts';

/** How a call ended, once its response is out or will never be. */
export interface Outcome {
  /** The HTTP status that was sent (of gRPC: its equal), or 499 when the client left before the end. */
  readonly status: number;
  /** Milliseconds from the first byte of the request to the end of the response. */
  readonly duration: number;
}

/** What the chain knows about one call of any transport. Each stage writes its own members, for those after it. */
export abstract class CallState implements AbortableCall {
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  requestId = '';
  trace!: RequestTrace;
  /** What the call presented, where that was looked at. */
  credentials: PresentedCredentials | undefined;
  identity: Identity = ANONYMOUS;
  /** Why a credential that was presented does not count. */
  failure: AuthenticationFailure | undefined;
  /** Whether the credential is the signature of this call. */
  isSigned = false;
  /** A part that the credential's check needs is away: the call can be neither allowed nor refused. */
  unavailable: GatewayError | undefined;
  tenant: TenantRecord | undefined;
  /** The caller's IP address, behind the trusted proxies. */
  sourceAddress = '';
  /** The code of the error that was sent, for the audit. */
  errorCode: string | undefined;
  /** Names of the members of the body, never their values, for the audit. */
  bodyFields: readonly string[] = [];
  auditExtra: AuditExtra = {};

  #controller: AbortController | undefined;
  #abortReason: Error | undefined;
  #whenDone: ((outcome: Outcome) => void)[] = [];

  constructor(startedAt: number) {
    this.startedAt = startedAt;
  }

  /** The plugin whose route or method is called; `undefined` for what leads nowhere. */
  abstract get owner(): string | undefined;
  /** The route's pattern, or the method's full name. */
  abstract get pattern(): string;
  /** As the client sent it, without the query. */
  abstract get path(): string;
  /** What the client sent; of gRPC its metadata as headers, with `:authority` as `host`. */
  abstract readonly request: AddressedRequest;
  /** Sets a header of the answer, or of initial metadata, while it can. @throws Error for one that cannot be sent */
  abstract setHeader(name: string, value: string): void;

  /** Tells the caller how much of its window is left; of two windows the one that is closer to its end. */
  abstract tellLimit(limit: number, remaining: number): void;

  /** The text of `X-Svc-User-Id`; of a list the first. */
  get userHeader(): string | undefined {
    return textHeaderOf(this.headers, 'x-svc-user-id');
  }

  get headers(): Headers {
    return this.request.headers;
  }

  get isLoopback(): boolean {
    return isLoopbackCaller(this.request);
  }

  /** As it was sent. */
  get userAgent(): string | undefined {
    return headerOf(this.headers, 'user-agent');
  }

  /** Aborts when the client is gone or the plugin's drain time is over; made at the first use. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  get isAborted(): boolean {
    return this.#abortReason !== undefined;
  }

  abort(reason: Error): void {
    if (this.#abortReason !== undefined) return;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
  }

  /** Why the call failed: of an aborted call the reason of the abort, whatever its handler threw. */
  errorOf(thrown: unknown): GatewayError {
    return this.#abortReason instanceof GatewayError ? this.#abortReason : asGatewayError(thrown);
  }

  /** Calls back when the response was sent or the client left; the last registered first. */
  whenDone(callback: (outcome: Outcome) => void): void {
    this.#whenDone.push(callback);
  }

  /** Calls the callbacks of `whenDone`; to be called once, when the call is over. */
  protected done(outcome: Outcome): void {
    for (let index = this.#whenDone.length - 1; index >= 0; index -= 1) this.#whenDone[index]!(outcome);
  }
}
