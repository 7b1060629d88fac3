import type { Static, TSchema } from 'typebox';
import type { Access } from './access.ts';
import type { Call } from './call.ts';

/** A message without a schema: plain data as its codec makes it (see `GrpcServiceDefinition`). */
// biome-ignore lint/suspicious/noExplicitAny: the proto file types the fields, which TypeScript cannot see
export type GrpcMessage = Record<string, any>;

type Request<S> = S extends TSchema ? Static<S> : GrpcMessage;

/** What the handler of a gRPC method receives. */
export interface GrpcCall<R = GrpcMessage> extends Call {
  /** The request of a unary or server-streaming method. Throws on the other kinds, whose requests come one by one. */
  readonly request: R;
  /** The requests as they come, of every kind of method; to be read once. Throws what ends the call too early. */
  readonly requests: AsyncIterable<R>;
  /**
   * Sends a message of a server- or bidi-streaming method. Wait for it: it resolves when there is room for another, and
   * rejects with the reason when the call was aborted. A client that takes nothing for a minute is given up.
   */
  send(message: GrpcMessage): Promise<void>;
  /** When the caller stops waiting (`signal` aborts then); `undefined` when it said nothing. */
  readonly deadline: Date | undefined;
  /** Metadata of the request by lower-case name; of several values the first. Binary entries (`…-bin`) are base64. */
  metadata(name: string): string | undefined;
  /** Adds an entry to the initial metadata. Throws when they have been sent, with the first message. */
  header(name: string, value: string): void;
  /** Adds an entry to the trailers. */
  trailer(name: string, value: string): void;
}

/** What a method does to the caller's data; it decides which scope an access rule without scopes means. */
export type GrpcEffect = 'read' | 'write' | 'execute';

/** One method of a service; which of the four kinds it is the proto file says. */
export interface GrpcMethodDefinition<S extends TSchema | undefined = undefined> {
  /** Without it the method does not mount. */
  readonly access: Access;
  /** One line for people. */
  readonly summary: string;
  /**
   * `read`, `write` or `execute` is the scope that an access rule with an empty list of scopes asks for, and `x:*` asks
   * for `x:read` of methods that read, for `x:write` of others. Default `write`.
   */
  readonly effect?: GrpcEffect;
  /** Schema of each request; what does not match is INVALID_ARGUMENT and names each field. */
  readonly request?: S;
  /** `standard` (default) counts the call, however long, once against the tenant's, user's or address's window. */
  readonly rateLimit?: 'standard' | 'none';
  /** The open call counts against `SVC_MAX_STREAMS_PER_USER`. */
  readonly countsAsStream?: boolean;
  /** Milliseconds that a call may take, whatever its client allows; default: what the client allows. */
  readonly timeout?: number;
  /**
   * Unary and client-streaming: returns the response. Server- and bidi-streaming: an async generator of the responses,
   * or sends them with `call.send` and returns when there are no more. Throws catalogued errors.
   */
  handle(call: GrpcCall<Request<S>>): unknown;
}

/** A method whose schema is forgotten: what the kernel keeps. */
export interface GrpcMethod extends Omit<GrpcMethodDefinition, 'request' | 'handle'> {
  readonly request?: TSchema | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: the one place where methods of all request types meet
  handle(call: GrpcCall<any>): unknown;
}

/**
 * A service of a proto file. Messages are plain objects on both sides: field names as in the proto file, 64-bit
 * integers as text (numbers are taken, too), enums by name, bytes as Buffer, `google.protobuf.Struct`, `Value` and
 * `ListValue` as plain JSON, `Timestamp` as RFC 3339 (a `Date` is taken, too). Absent scalars have their default;
 * absent messages, `optional` fields and members of a `oneof` are absent. What a response does not declare is left out.
 */
export interface GrpcServiceDefinition {
  /** The file that declares the service. */
  readonly proto: URL | string;
  /** Folders in which its imports are looked for, in addition to its own. `google/protobuf/*` need none. */
  readonly includeDirs?: readonly (URL | string)[];
  /** Full name: `svc.notes.v1.NotesService`. */
  readonly service: string;
  /** Every method of the service, and nothing else. */
  readonly methods: Readonly<Record<string, GrpcMethod>>;
  /**
   * True reads the proto file with the first connection of a client, and not when the plugin is set up: the gateway
   * starts sooner and smaller. What is wrong with the declaration is then logged, and the service is UNIMPLEMENTED; for
   * declarations that a test has checked. Default false.
   */
  readonly lazy?: boolean;
}

/** A declared service. */
export type GrpcService = GrpcServiceDefinition;

/**
 * Declares a method.
 *
 * @example
 * GetNote: grpcMethod({
 *   access: access.role('user'), effect: 'read', summary: 'Read a note',
 *   request: Type.Object({ id: Type.String({ minLength: 1 }) }),
 *   handle: async (call) => ({ note: await notes.get(call.entities(), call.request.id) }),
 * })
 */
export function grpcMethod<S extends TSchema | undefined = undefined>(
  definition: GrpcMethodDefinition<S>,
): GrpcMethod {
  return definition;
}

/** Declares a service for `scope.grpc`. Nothing is read or checked here. */
export function grpcService(definition: GrpcServiceDefinition): GrpcService {
  return definition;
}
