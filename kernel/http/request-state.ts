import type { ServerResponse } from 'node:http';
import { ANONYMOUS } from '../access/anonymous.ts';
import type { Identity } from '../access/identity.ts';
import type { AuditExtra } from '../api/call.ts';
import type { ErrorDialect } from '../api/route.ts';
import type { AuthenticationFailure } from '../auth/authenticator.ts';
import { asGatewayError } from '../errors/as-gateway-error.ts';
import { KernelErrors } from '../errors/catalogue.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { AbortableCall } from '../host/in-flight.ts';
import type { RequestTrace } from '../observability/tracing.ts';
import type { TenantRecord } from '../tenancy/tenant-record.ts';
import type { Match } from './route-table.ts';

/** How a request ended, once its response is out or will never be. */
export interface Outcome {
  /** The status that was sent, or 499 when the client left before the end. */
  readonly status: number;
  /** Milliseconds from the first byte of the request to the end of the response. */
  readonly duration: number;
}

/** A whole answer of text, which is sent when all stages are done with it. */
export interface Answer {
  readonly status: number;
  /** Content type. */
  readonly type: string;
  readonly text: string;
}

/**
 * What the chain knows about one request. Each stage writes its own members, and the stages after it read them; it is
 * Koa's `context.state`.
 */
export class RequestState implements AbortableCall {
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  readonly match: Match;
  /** The path as the client sent it, without the query. */
  readonly path: string;
  requestId = '';
  trace!: RequestTrace;
  identity: Identity = ANONYMOUS;
  /** Why a credential that was presented does not count. */
  failure: AuthenticationFailure | undefined;
  /** A part that the credential's check needs is away: neither allowed nor refused can be said. */
  unavailable: GatewayError | undefined;
  tenant: TenantRecord | undefined;
  /** The caller's IP address, behind the trusted proxies. */
  sourceAddress = '';
  /** The code of the error that was sent, for the audit. */
  errorCode: string | undefined;
  /** Names of the members of the body, never their values, for the audit. */
  bodyFields: readonly string[] = [];
  auditExtra: AuditExtra = {};
  /** What will be sent; `undefined` while that is open, and for what Koa or a stream sends. */
  answer: Answer | undefined;

  #controller: AbortController | undefined;
  #abortReason: Error | undefined;
  #whenDone: ((outcome: Outcome) => void)[] = [];

  constructor(match: Match, path: string, startedAt: number) {
    this.match = match;
    this.path = path;
    this.startedAt = startedAt;
  }

  /** The route's pattern, or `unmatched`: the only form of the path that becomes a metric label. */
  get pattern(): string {
    return this.match.kind === 'route' ? this.match.route.pattern : 'unmatched';
  }

  get dialect(): ErrorDialect {
    return this.match.kind === 'route' ? this.match.route.errors : 'problem';
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

  /** Why the call failed: one that was aborted, for the reason of the abort, in whatever words its handler gave up. */
  errorOf(thrown: unknown): GatewayError {
    return this.#abortReason instanceof GatewayError ? this.#abortReason : asGatewayError(thrown);
  }

  /** Calls back when the response was sent or the client left; the last registered first. */
  whenDone(callback: (outcome: Outcome) => void): void {
    this.#whenDone.push(callback);
  }

  /** Watches the response for its end; once per request. */
  watch(response: ServerResponse, monotonic: () => number): void {
    response.once('close', () => {
      const sent = response.writableFinished;
      if (!sent) this.abort(KernelErrors.clientClosed());
      const outcome = { status: sent ? response.statusCode : 499, duration: monotonic() - this.startedAt };
      for (let index = this.#whenDone.length - 1; index >= 0; index -= 1) this.#whenDone[index]!(outcome);
    });
  }
}
