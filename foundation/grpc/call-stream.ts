import { Metadata } from '@grpc/grpc-js';
import { KernelErrors } from '../base/error-catalogue.ts';
import { GRPC_CODES } from '../base/grpc-status.ts';
import { GrpcErrors } from './errors.ts';
import { resetStream, takeOverStatus, timeLeft, type WireCall, type WireStatus } from './grpc-js-seams.ts';

/** Bounds of one call on the wire. */
export interface ExchangeLimits {
  /** Bytes of a response message at most. */
  readonly maxMessage: number;
  /** Milliseconds after which a client that takes nothing is given up. */
  readonly slowClient: number;
}

/** The events of a stream. */
export interface CallEvents {
  /** grpc-js gave the call up: a deadline, a message that it cannot take. */
  refused(status: WireStatus): void;
  /** The client takes nothing; the stream is cut off next. */
  stalled(reason: Error): void;
  /** The stream is over: after the status, or because the client is gone. Once, and always. */
  closed(): void;
}

/** Why a handler that goes on after its return can neither read nor write. */
const OVER = new Error('the call is over');

/** Bytes that may wait for the client before `write` makes its caller wait, too. */
const HIGH_WATER = 64 * 1024;

/**
 * One call on the wire, of any kind: bytes of messages in, bytes of messages out, and one status at the end. Reads one
 * message at a time, so a client that sends faster than it is read is slowed down by HTTP/2 itself.
 */
export class CallStream {
  /** What the client sent before its messages. */
  readonly request: Metadata;
  /** Sent before the first message; with the status when there is none. */
  readonly header = new Metadata();
  readonly trailer = new Metadata();
  /** Milliseconds that the client allows; `Infinity` when it said nothing. */
  readonly allowed: number;
  readonly #call: WireCall;
  readonly #limits: ExchangeLimits;
  readonly #sendStatus: (status: WireStatus) => void;
  #events!: CallEvents;
  #isHeaderSent = false;
  #isOver = false;
  #reading: PromiseWithResolvers<Buffer | undefined> | undefined;
  #room: PromiseWithResolvers<void> | undefined;
  #unsent = 0;
  #failure: Error | undefined;
  #stall: NodeJS.Timeout | undefined;

  private constructor(call: WireCall, request: Metadata, limits: ExchangeLimits) {
    this.#call = call;
    this.request = request;
    this.#limits = limits;
    this.allowed = timeLeft(call);
    this.#sendStatus = takeOverStatus(call, (status) => this.#refused(status));
  }

  /** Begins a call: `begin` is called in this turn, unless the client is gone already. */
  static accept(call: WireCall, limits: ExchangeLimits, begin: (stream: CallStream) => CallEvents): void {
    let stream!: CallStream;
    call.start({
      // Always the first to be called, and in this turn.
      onReceiveMetadata: (request) => {
        stream = new CallStream(call, request, limits);
        stream.#events = begin(stream);
      },
      onReceiveMessage: (bytes: Buffer) => stream.#received(bytes),
      onReceiveHalfClose: () => stream.#received(undefined),
      onCancel: () => stream.#closed(),
    });
  }

  /** IP address of the other end of the connection. */
  get remoteAddress(): string | undefined {
    return this.#call.getConnectionInfo().remoteAddress;
  }

  /** `:authority`: what the client believes this address to be called, with its port. */
  get host(): string | undefined {
    return this.#call.getHost();
  }

  get isHeaderSent(): boolean {
    return this.#isHeaderSent;
  }

  /** The next message, or `undefined` after the last. One at a time. Rejects with the reason of `fail`. */
  read(): Promise<Buffer | undefined> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#reading !== undefined) throw new Error('the requests of a call are read by one reader');
    const reading = Promise.withResolvers<Buffer | undefined>();
    this.#reading = reading;
    this.#call.startRead();
    return reading.promise;
  }

  /**
   * Sends a message. A promise when the client is behind: it resolves when there is room again.
   *
   * @throws `response.too-large`, and the reason of `fail`.
   */
  write(bytes: Buffer): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    this.checkSize(bytes);
    this.#put(bytes);
    return this.#unsent > HIGH_WATER ? this.#waitForRoom() : undefined;
  }

  /** @throws `response.too-large` */
  checkSize(bytes: Buffer): void {
    const { maxMessage } = this.#limits;
    if (bytes.length <= maxMessage) return;
    throw GrpcErrors.responseTooLarge(
      `The response has more than ${maxMessage} bytes (SVC_GRPC_MAX_MESSAGE): ask for less, such as a smaller page`,
    );
  }

  /** Ends the call, with a last message if there is one. The client gets at least `header` and `trailer`. */
  end(code: number, details: string, last?: Buffer): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure ??= OVER;
    if (last !== undefined) this.#put(last);
    else if (code === GRPC_CODES.OK) this.#sendHeader();
    // An error without any message is sent in one block of headers: clients may then repeat the call on their own.
    if (!this.#isHeaderSent) this.trailer.merge(this.header);
    this.#watchStall();
    this.#sendStatus({ code, details, metadata: this.trailer });
  }

  /** From now on nothing is read or written; a read or write that waits rejects with the reason. */
  fail(reason: Error): void {
    this.#failure ??= reason;
    // After its end the handler has settled, and no caller would take the rejection.
    if (this.#isOver) return;
    this.#reading?.reject(reason);
    this.#reading = undefined;
    this.#room?.reject(reason);
    this.#room = undefined;
  }

  #put(bytes: Buffer): void {
    this.#sendHeader();
    this.#unsent += bytes.length;
    this.#call.sendMessage(bytes, () => {
      this.#unsent -= bytes.length;
      if (this.#unsent > HIGH_WATER) return;
      this.#room?.resolve();
      this.#room = undefined;
    });
  }

  /** Cuts the call off; the client sees CANCELLED. */
  cut(): void {
    resetStream(this.#call);
  }

  #sendHeader(): void {
    if (this.#isHeaderSent) return;
    this.#isHeaderSent = true;
    this.#call.sendMetadata(this.header);
  }

  #received(bytes: Buffer | undefined): void {
    const reading = this.#reading;
    this.#reading = undefined;
    reading?.resolve(bytes);
  }

  #waitForRoom(): Promise<void> {
    if (this.#room === undefined) {
      this.#room = Promise.withResolvers<void>();
      this.#watchStall();
      const { promise } = this.#room;
      const relax = () => {
        if (!this.#isOver) clearTimeout(this.#stall);
      };
      promise.then(relax, relax);
    }
    return this.#room.promise;
  }

  #watchStall(): void {
    clearTimeout(this.#stall);
    this.#stall = setTimeout(() => {
      const reason = KernelErrors.clientClosed('The client reads too slowly');
      this.fail(reason);
      this.#events.stalled(reason);
      resetStream(this.#call);
    }, this.#limits.slowClient);
    this.#stall.unref();
  }

  #refused(status: WireStatus): void {
    // A message that could not be written: the stream is broken, and its end is reported next.
    if (this.#unsent > 0 && status.code === GRPC_CODES.INTERNAL) return;
    this.#events.refused(status);
  }

  #closed(): void {
    clearTimeout(this.#stall);
    if (!this.#isOver) this.fail(KernelErrors.clientClosed());
    this.#isOver = true;
    this.#events.closed();
  }
}
