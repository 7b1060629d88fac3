import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Server } from '@grpc/grpc-js';
import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import { InFlight } from '../../foundation/base/in-flight.ts';
import { CallStream } from '../../foundation/grpc/call-stream.ts';
import { createDispatchingServer, resetStream, type WireCall } from '../../foundation/grpc/grpc-js-seams.ts';
import { openIntake } from '../../foundation/grpc/intake.ts';
import type { Tls } from '../../foundation/grpc/tls.ts';
import { type CompiledService, compileService, MethodTable } from './compiled-service.ts';
import { createHealth } from './health.ts';
import { reflectionServices } from './reflection.ts';
import { createServeCall, type GrpcChainServices } from './serve-call.ts';

/** What a gRPC server is made of. */
export interface GrpcServerOptions {
  readonly chain: GrpcChainServices;
  /** What health reports: false before everything is up, and from the beginning of the end. */
  readonly isServing: () => boolean;
  /** Bytes of a message at most, in both directions, after decompression. Default 4 MiB. */
  readonly maxMessage?: number;
  /** Calls that one connection may have open. Default 256; more wait in the client. */
  readonly maxStreams?: number;
  /** Milliseconds after which a client that takes nothing is given up. Default 60 000, as for event streams. */
  readonly slowClient?: number;
}

const MAX_MESSAGE = 4 * 1024 * 1024;
const MAX_STREAMS = 256;
const SLOW_CLIENT = 60_000;
/** A connection without any call is closed after so long; clients open another by themselves. */
const IDLE_CONNECTION = 300_000;
/** A connection whose other end is gone is noticed within the sum of both. */
const PING_AFTER = 60_000;
const PING_TIMEOUT = 20_000;

/**
 * The gRPC server of the process, with the services of the plugins that are live, health and reflection. It listens
 * nowhere: connections are handed to it.
 *
 * HTTP/2 itself bounds entries of metadata (128) and a connection's resets. How often clients ping is not limited.
 */
export class GrpcServer {
  readonly #options: GrpcServerOptions;
  readonly #server: Server;
  readonly #own = new InFlight();
  readonly #health: ReturnType<typeof createHealth>;
  readonly #kernels: readonly CompiledService[];
  #table: MethodTable;
  readonly #tls: Tls | undefined;
  #intake: ((socket: Socket) => void) | undefined;

  /** @param tls without it connections are not encrypted */
  constructor(options: GrpcServerOptions, tls?: Tls) {
    this.#options = options;
    this.#tls = tls;
    const { chain, isServing, maxMessage = MAX_MESSAGE, slowClient = SLOW_CLIENT } = options;
    const serve = createServeCall(chain);
    const limits = { maxMessage, slowClient };
    this.#health = createHealth(() => this.#table, isServing);
    this.#kernels = [this.#health.service, ...reflectionServices(() => this.#table)].map((service) =>
      compileService(service, 'kernel', this.#own),
    );
    this.#table = new MethodTable(this.#kernels);
    this.#server = createDispatchingServer(transportOptions(options), (path, call) =>
      this.#accept(call, () => CallStream.accept(call, limits, (stream) => serve(this.#table, path, stream))),
    );
  }

  /** Serves a connection that was accepted elsewhere. */
  adopt(socket: Socket): void {
    this.#intake ??= openIntake(this.#server, this.#options.chain, this.#tls);
    this.#intake(socket);
  }

  /**
   * Builds the table of these services and the kernel's own; the returned function swaps it in at once. Calls under way
   * go on with the handlers that they started with.
   */
  prepare(services: readonly CompiledService[]): () => void {
    const table = new MethodTable([...this.#kernels, ...services]);
    return () => {
      this.#table = table;
      this.#health.changed();
    };
  }

  /**
   * Asks every connection to go, and resolves when all calls are over. What watches health, and reflection, ends with
   * UNAVAILABLE at once.
   */
  async close(): Promise<void> {
    this.#tls?.close();
    if (this.#intake === undefined) return;
    this.#health.close();
    // Clients that watch health get the new status before their calls are ended.
    await nextTurn();
    this.#own.abortAll(KernelErrors.draining());
    const { promise, resolve } = Promise.withResolvers<void>();
    // Its error is about servers that were not listening, as those of injected connections never are.
    this.#server.tryShutdown(() => resolve());
    await promise;
  }

  /** Cuts what is still open. */
  destroy(): void {
    this.#server.forceShutdown();
  }

  /** No caller could handle a failure here: the call ends, and the process goes on. */
  #accept(call: WireCall, accept: () => void): void {
    try {
      accept();
    } catch (err) {
      this.#options.chain.log.error({ err }, 'a gRPC call could not be accepted');
      resetStream(call);
    }
  }
}

function transportOptions(options: GrpcServerOptions): Record<string, number> {
  const { maxMessage = MAX_MESSAGE, maxStreams = MAX_STREAMS } = options;
  return {
    'grpc.max_receive_message_length': maxMessage,
    // Checked before it is written, so that the client gets an error in our words.
    'grpc.max_send_message_length': -1,
    'grpc.max_concurrent_streams': maxStreams,
    'grpc.keepalive_time_ms': PING_AFTER,
    'grpc.keepalive_timeout_ms': PING_TIMEOUT,
    'grpc.max_connection_idle_ms': IDLE_CONNECTION,
    'grpc.enable_channelz': 0,
  };
}
