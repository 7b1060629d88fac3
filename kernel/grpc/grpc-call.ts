import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import type { Message } from '../../foundation/protobuf/message-codec.ts';
import { ConversionError } from '../../foundation/protobuf/well-known.ts';
import type { GrpcCall } from '../api/grpc.ts';
import { type CallServices, StateCall } from '../chain/state-call.ts';
import type { CompiledMethod } from './compiled-service.ts';
import { checkName, type GrpcState } from './grpc-state.ts';

/** One gRPC call as a handler sees it. */
export class ServedCall extends StateCall<GrpcState> implements GrpcCall {
  readonly deadline: Date | undefined;
  readonly #method: CompiledMethod;
  #request: Message | undefined;
  #isRead = false;

  constructor(state: GrpcState, method: CompiledMethod, services: CallServices, acceptedAt: number) {
    super(state, services);
    const { allowed } = state.stream;
    this.#method = method;
    this.deadline = Number.isFinite(allowed) ? new Date(acceptedAt + allowed) : undefined;
  }

  get request(): Message {
    if (this.#request === undefined) throw new Error(`${this.#method.name} has requests, not one request`);
    return this.#request;
  }

  get requests(): AsyncIterable<Message> {
    return this.#request === undefined ? this.#readAll() : onlyOne(this.#request);
  }

  async send(message: Message): Promise<void> {
    if (!this.#method.responseStream)
      throw new Error(`${this.#method.name} returns its response and sends none`);
    const room = this.state.stream.write(this.#method.responses.encode(message));
    if (room !== undefined) await room;
  }

  metadata(name: string): string | undefined {
    const [value] = this.state.stream.request.get(name);
    return Buffer.isBuffer(value) ? value.toString('base64') : value;
  }

  header(name: string, value: string): void {
    if (this.state.stream.isHeaderSent) throw new Error('the initial metadata have been sent');
    checkName(name);
    this.state.stream.header.set(name, value);
  }

  trailer(name: string, value: string): void {
    checkName(name);
    this.state.stream.trailer.set(name, value);
  }

  /** Reads the request of a method that has one. @throws `request.invalid` when there is none, or more than one. */
  async readRequest(): Promise<void> {
    const { stream } = this.state;
    const first = await stream.read();
    if (first === undefined) throw KernelErrors.invalidRequest('The call has no request message');
    if ((await stream.read()) !== undefined) {
      throw KernelErrors.invalidRequest('The method takes one request message, and got another');
    }
    this.#request = this.#decode(first);
  }

  async *#readAll(): AsyncGenerator<Message> {
    if (this.#isRead) throw new Error('the requests of a call can be read once');
    this.#isRead = true;
    for (;;) {
      const bytes = await this.state.stream.read();
      if (bytes === undefined) return;
      yield this.#decode(bytes);
    }
  }

  #decode(bytes: Buffer): Message {
    const { requests, validate } = this.#method;
    const { message, present } = decoded(() => requests.decode(bytes));
    this.state.bodyFields = present.slice(0, 64);
    const errors = validate?.(message) ?? [];
    if (errors.length > 0) throw KernelErrors.invalidRequest(undefined, { errors });
    return message;
  }
}

/** What the client sent wrongly is its mistake; what a handler returns wrongly is ours and stays as it is. */
function decoded<T>(decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    if (!(cause instanceof ConversionError)) {
      throw KernelErrors.malformedBody('The request message cannot be read', { cause });
    }
    const pointer = `/body/${cause.path.replaceAll('.', '/')}`;
    throw KernelErrors.invalidRequest(undefined, { errors: [{ pointer, message: cause.why }] });
  }
}

async function* onlyOne(message: Message): AsyncGenerator<Message> {
  yield message;
}
