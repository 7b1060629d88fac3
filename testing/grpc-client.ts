import {
  ChannelCredentials,
  Client,
  type ClientDuplexStream,
  Metadata,
  type StatusObject,
} from '@grpc/grpc-js';
import { type GrpcStatusName, grpcStatusName } from '../foundation/base/grpc-status.ts';
import {
  decodeStatusDetails,
  type ReadViolation,
  STATUS_DETAILS,
} from '../foundation/grpc/status-details.ts';
import { loadProto, type ProtoSource } from '../foundation/protobuf/load-proto.ts';
import type { MessageCodec } from '../foundation/protobuf/message-codec.ts';

/** Which service a client calls, and as whom. */
export interface GrpcClientOptions extends ProtoSource {
  /** Bearer token of every call; `null` or absent sends none. */
  readonly token?: string | null;
  /** Default: not encrypted. */
  readonly credentials?: ChannelCredentials;
  /** Options of the channel (`grpc.…`). */
  readonly channel?: Readonly<Record<string, string | number>>;
}

/** What one call adds to its client. */
export interface GrpcCallOptions {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly token?: string | null;
  /** Milliseconds. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

/** A call that is over. Errors are returned, not thrown, so that tests look at both in one way. */
export interface GrpcAnswer {
  readonly code: GrpcStatusName;
  readonly details: string;
  /** The last response; `undefined` without any. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape
  readonly message: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly messages: readonly any[];
  /** Text entries of the initial metadata and the trailers, by their names. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The bad fields that the status names. */
  readonly violations: readonly ReadViolation[];
}

/** A call that is going on. */
export interface OpenGrpcCall {
  send(message: object): void;
  /** No more requests. */
  end(): void;
  cancel(): void;
  /** The responses as they come; ends without an error whatever the status. */
  readonly messages: AsyncIterableIterator<Record<string, unknown>>;
  readonly answer: Promise<GrpcAnswer>;
}

/** A client of one service, for tests of plugins. */
export interface GrpcClient {
  /** Calls a method of any kind; `requests` is one message, or a list for those that take many. */
  call(method: string, requests?: object | readonly object[], options?: GrpcCallOptions): Promise<GrpcAnswer>;
  /** Begins a call, of a method that streams for instance: `send` its request, and `end()` where there is no other. */
  open(method: string, options?: GrpcCallOptions): OpenGrpcCall;
  close(): void;
}

/**
 * Makes a client of `service` at `address` (`127.0.0.1:50051`). Messages look as in handlers: JSON for `Struct`, RFC
 * 3339 for `Timestamp`, names of the proto file. A method that the proto file does not declare is called with empty
 * messages.
 *
 * @example
 * using notes = grpcClient(address, { proto, service: 'svc.notes.v1.NotesService', token });
 * const { code, message } = await notes.call('GetNote', { id });
 */
export function grpcClient(address: string, options: GrpcClientOptions): GrpcClient & Disposable {
  const { service, credentials = ChannelCredentials.createInsecure(), channel = {} } = options;
  const { methods } = loadProto(options);
  const client = new Client(address, credentials, { 'grpc.use_local_subchannel_pool': 1, ...channel });

  function open(method: string, callOptions: GrpcCallOptions = {}): OpenGrpcCall {
    const { requests, responses } = methods.get(method) ?? NO_MESSAGES;
    const stream: ClientDuplexStream<object, object> = client.makeBidiStreamRequest(
      `/${service}/${method}`,
      (message: object) => requests.encode(message),
      (bytes: Buffer) => responses.decode(bytes).message,
      metadataOf(options, callOptions),
      callOptions.timeout === undefined ? {} : { deadline: Date.now() + callOptions.timeout },
    );
    callOptions.signal?.addEventListener('abort', () => stream.cancel(), { once: true });
    return follow(stream);
  }

  return {
    open,
    call: async (method, requests = {}, callOptions) => {
      const call = open(method, callOptions);
      for (const request of Array.isArray(requests) ? requests : [requests]) call.send(request);
      call.end();
      for await (const _ of call.messages);
      return call.answer;
    },
    close: () => client.close(),
    [Symbol.dispose]: () => client.close(),
  };
}

const NOTHING: MessageCodec = {
  encode: () => Buffer.alloc(0),
  decode: () => ({ message: {}, present: [] }),
};
const NO_MESSAGES = { requests: NOTHING, responses: NOTHING };

function metadataOf(client: GrpcClientOptions, call: GrpcCallOptions): Metadata {
  const metadata = new Metadata();
  const token = call.token === undefined ? client.token : call.token;
  if (token !== undefined && token !== null) metadata.set('authorization', `Bearer ${token}`);
  for (const [name, value] of Object.entries(call.metadata ?? {})) metadata.set(name, value);
  return metadata;
}

function follow(stream: ClientDuplexStream<object, object>): OpenGrpcCall {
  const received: Record<string, unknown>[] = [];
  const { promise, resolve } = Promise.withResolvers<GrpcAnswer>();
  const entries: Record<string, string> = {};
  stream.on('metadata', (metadata: Metadata) => addText(entries, metadata));
  stream.on('status', (status: StatusObject) => {
    addText(entries, status.metadata);
    const [details] = status.metadata.get(STATUS_DETAILS);
    resolve({
      code: grpcStatusName(status.code) as GrpcStatusName,
      details: status.details,
      message: received.at(-1),
      messages: received,
      metadata: entries,
      violations: Buffer.isBuffer(details) ? decodeStatusDetails(details) : [],
    });
  });
  async function* messages() {
    try {
      for await (const message of stream) {
        received.push(message);
        yield message;
      }
    } catch {
      // The answer has the status of the failure.
      await promise;
    }
  }
  // Kept until the test reads: an error without a listener would end the process.
  stream.on('error', () => undefined);
  return {
    send: (message) => void stream.write(message),
    end: () => void stream.end(),
    cancel: () => stream.cancel(),
    messages: messages(),
    answer: promise,
  };
}

function addText(entries: Record<string, string>, metadata: Metadata): void {
  for (const [name, value] of Object.entries(metadata.getMap())) {
    if (typeof value === 'string') entries[name] = value;
  }
}
