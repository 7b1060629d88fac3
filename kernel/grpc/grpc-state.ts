import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import { GRPC_CODES } from '../../foundation/base/grpc-status.ts';
import type { CallStream } from '../../foundation/grpc/call-stream.ts';
import { GrpcErrors } from '../../foundation/grpc/errors.ts';
import type { AddressedRequest } from '../../foundation/http/source-address.ts';
import { CallState } from '../chain/call-state.ts';
import type { CompiledMethod } from './compiled-service.ts';

/** What was sent at the end of a call. */
interface SentStatus {
  /** gRPC status code. */
  readonly code: number;
  /** The HTTP status that means the same. */
  readonly status: number;
}

const GONE: SentStatus = { code: GRPC_CODES.CANCELLED, status: 499 };
const LATE: SentStatus = { code: GRPC_CODES.DEADLINE_EXCEEDED, status: 504 };

/** What the chain knows about one gRPC call. */
export class GrpcState extends CallState {
  /** `undefined`: no live service has it. */
  readonly method: CompiledMethod | undefined;
  /** `/svc.notes.v1.NotesService/GetNote` */
  readonly path: string;
  readonly request: GrpcRequest;
  readonly stream: CallStream;
  /** gRPC status code that was sent, CANCELLED when the client left before. */
  code: number = GRPC_CODES.CANCELLED;
  #sent: SentStatus | undefined;
  #remaining = Number.POSITIVE_INFINITY;
  #onAbort: ((reason: Error) => void) | undefined;

  constructor(
    method: CompiledMethod | undefined,
    path: string,
    request: GrpcRequest,
    stream: CallStream,
    startedAt: number,
  ) {
    super(startedAt);
    this.method = method;
    this.path = path;
    this.request = request;
    this.stream = stream;
  }

  get owner(): string | undefined {
    return this.method?.owner;
  }

  /** The method's full name, or `unmatched`: the only form of the path that becomes a metric label. */
  get pattern(): string {
    return this.method?.name ?? 'unmatched';
  }

  setHeader(name: string, value: string): void {
    checkName(name);
    if (!this.stream.isHeaderSent) this.stream.header.set(name, value);
  }

  tellLimit(limit: number, remaining: number): void {
    if (remaining >= this.#remaining) return;
    this.#remaining = remaining;
    this.stream.header.set('x-ratelimit-limit', String(limit));
    this.stream.header.set('x-ratelimit-remaining', String(remaining));
  }

  /** Ends the call: nothing is read or written any more, `signal` aborts, the callback of `whenAborted` is called. */
  override abort(reason: Error): void {
    if (this.isAborted) return;
    super.abort(reason);
    this.stream.fail(reason);
    this.#onAbort?.(reason);
  }

  /** Sets the callback that is called when the call is aborted, by the client or by the gateway. */
  whenAborted(callback: (reason: Error) => void): void {
    this.#onAbort = callback;
  }

  /** Notes what was sent at the end. */
  sent(status: SentStatus): void {
    this.#sent = status;
  }

  /** What was sent does not reach the client: it was cut off. */
  unsent(): void {
    this.#sent = undefined;
  }

  /**
   * The stream is over. A client that stops waiting cuts its call off, often before the same deadline has come here:
   * `isLate` says that it is over.
   */
  close(monotonic: number, isLate: boolean): void {
    const { code, status } = this.#sent ?? (isLate ? LATE : GONE);
    if (this.#sent === undefined) this.abort(isLate ? GrpcErrors.deadline() : KernelErrors.clientClosed());
    this.code = code;
    this.done({ status, duration: monotonic - this.startedAt });
  }
}

/** The metadata of a call as HTTP headers, so that the same code reads credentials, traces and addresses. */
export class GrpcRequest implements AddressedRequest {
  readonly socket: { readonly remoteAddress: string | undefined };
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Bytes of all names and values. */
  readonly size: number;

  constructor({ request, remoteAddress, host }: CallStream) {
    this.socket = { remoteAddress };
    const headers: Record<string, string | undefined> = {};
    const entries = request.getMap();
    let size = 0;
    for (const name in entries) {
      const value = entries[name]!;
      size += name.length + value.length;
      if (typeof value === 'string') headers[name] = value;
    }
    if (host !== undefined) headers.host = host;
    this.size = size;
    this.headers = headers;
  }
}

/** Names that mean something to HTTP/2 or gRPC itself. */
const RESERVED =
  /^(?::.*|grpc-.*|connection|keep-alive|proxy-connection|transfer-encoding|upgrade|http2-settings|te|trailer|content-.*|.*-bin)$/i;

/** @throws Error for a name that no plugin may set */
export function checkName(name: string): void {
  if (RESERVED.test(name)) throw new Error(`the metadata name ${name} is reserved, or for bytes`);
}
