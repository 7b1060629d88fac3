import {
  constants,
  type ServerOptions as Http2Options,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import {
  type ConnectionInjector,
  Server,
  type ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerOptions,
} from '@grpc/grpc-js';
import { LONGEST_DELAY_MS } from '../base/deadline.ts';

/**
 * Everything that grpc-js has no public way for is in this file. The version is pinned, and what is relied upon is
 * checked when a server is made: another version of the library fails there and not in the middle of a call.
 */

/** One call on the wire, as grpc-js hands it to its interceptors; messages are bytes. */
export type WireCall = ServerInterceptingCallInterface;

/** How a call ends. */
export type WireStatus = Parameters<WireCall['sendStatus']>[0];

/** What grpc-js knows of a method. */
interface Handler {
  readonly func: () => void;
  readonly serialize: (bytes: Buffer) => Buffer;
  readonly deserialize: (bytes: Buffer) => Buffer;
  readonly type: 'bidi';
  readonly path: string;
}

/** What of `Server` this file relies on. */
interface ServerInternals {
  readonly http2Servers?: ReadonlyMap<Http2SecureServer, unknown>;
  /** What its servers of HTTP/2 are made with. */
  commonServerOptions?: object;
  /** Finds the handler of a call; grpc-js itself answers where there is none. */
  _retrieveHandler?: (path: string) => Handler | null;
  /** Takes a call that has come in. */
  _streamHandler?: (interceptors: unknown, stream: unknown, headers: IncomingHttpHeaders) => void;
}

/** The members of a call that this file relies on. */
interface CallInternals {
  readonly stream?: ServerHttp2Stream;
}

/**
 * A server without methods of its own: every call, whatever it asks for, is given to `accept` in the turn in which it
 * comes in, before anything of it but its metadata is read. On its own grpc-js would answer unknown methods without the
 * chain, so that they were not counted, limited or recorded; and a change of services would be many changes instead of
 * one.
 *
 * @throws Error when this grpc-js is another one than this file was written for.
 */
export function createDispatchingServer(
  options: ServerOptions,
  accept: (path: string, call: WireCall) => void,
): Server {
  const server = new Server({
    ...options,
    // The chain takes the place of grpc-js's own handling of the four kinds: `start` is never passed on.
    interceptors: [
      (method, call) => new ServerInterceptingCall(call, { start: () => accept(method.path, call) }),
    ],
  });
  const internals = server as unknown as ServerInternals;
  const { _streamHandler: take, http2Servers, commonServerOptions } = internals;
  if (
    typeof internals._retrieveHandler !== 'function' ||
    typeof take !== 'function' ||
    !(http2Servers instanceof Map) ||
    commonServerOptions === undefined
  ) {
    throw new Error('this version of @grpc/grpc-js looks up its methods in another way');
  }
  internals._streamHandler = (interceptors, stream, headers) => {
    // grpc-js takes what no timer can hold for a deadline that is over, and clients that want none often send one of
    // years.
    if (deadlineOf(headers['grpc-timeout']) > LONGEST_DELAY_MS) delete headers['grpc-timeout'];
    (stream as ServerHttp2Stream).once('close', letGo);
    take.call(server, interceptors, stream, headers);
  };
  internals._retrieveHandler = (path) => ({
    func: unreachable,
    serialize: asIs,
    deserialize: asIs,
    type: 'bidi',
    path,
  });
  return server;
}

/** Takes connections for a server, which it serves by HTTP/2 with these options. */
export function injectorOf(
  server: Server,
  credentials: ServerCredentials,
  options: Http2Options,
): ConnectionInjector {
  const internals = server as unknown as ServerInternals;
  internals.commonServerOptions = { ...internals.commonServerOptions, ...options };
  return server.createConnectionInjector(credentials);
}

/**
 * Lets go of all that listens to a stream that is over. Node keeps the streams of a connection in a Map, of which dead
 * tables keep some in the old generation (`foundation/base/transient.ts` says why), and with them their whole calls.
 */
function letGo(this: ServerHttp2Stream): void {
  this.removeAllListeners().on('error', ignore);
}

function ignore(): void {}

/**
 * The servers of HTTP/2 below a server, of its addresses and injectors: those with TLS report clients that they refuse.
 */
export function http2ServersOf(server: Server): Iterable<Http2SecureServer> {
  return (server as unknown as ServerInternals).http2Servers?.keys() ?? [];
}

/** Milliseconds by unit, as gRPC's specification names them. */
const UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** Milliseconds that the header gives a call; 0 where there is none, or what it holds is none. */
function deadlineOf(header: string | readonly string[] | undefined): number {
  const [, amount = '0', unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(String(header)) ?? [];
  return Number(amount) * (UNITS[unit] ?? 0);
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}

function unreachable(): never {
  throw new Error('calls are served by the chain');
}

/**
 * Takes over the end of a call. grpc-js ends some by itself (deadline, a message too large, compression that it does
 * not know): `onOwn` gets that status instead of the client. The returned function sends one.
 */
export function takeOverStatus(
  call: WireCall,
  onOwn: (status: WireStatus) => void,
): (status: WireStatus) => void {
  const send = call.sendStatus.bind(call);
  call.sendStatus = onOwn;
  return send;
}

/** Cuts the call off, whatever is unsent: the client sees CANCELLED. */
export function resetStream(call: WireCall): void {
  (call as unknown as CallInternals).stream?.close(constants.NGHTTP2_CANCEL);
}

/**
 * Milliseconds until the client's deadline, `Infinity` without one. grpc-js measures deadlines by the machine's clock.
 */
export function timeLeft(call: WireCall): number {
  const deadline = call.getDeadline();
  return Number(deadline) - Date.now();
}
