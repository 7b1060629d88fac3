import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { type Address, listen, reachableAt } from '../../foundation/http/address.ts';
import { closeGracefully, connectionsOf } from '../../foundation/http/connections.ts';
import { GatewayResponse, linger } from '../../foundation/http/early-answers.ts';
import { createServer } from '../../foundation/http/node-http.ts';
import { answersOn, endWithLast, giveUpSlowClients, inTurn } from '../../foundation/http/open-requests.ts';
import type { RefuseConnection } from '../../foundation/http/refusals.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import type { CompiledRoute } from './compiled-route.ts';
import { RouteTable } from './route-table.ts';

/** What listeners are made of. */
export interface ListenersOptions {
  /** Makes the handler of one address; `table` gives the routes that are live there now. */
  readonly handler: (table: () => RouteTable) => RequestListener;
  /** Answered on every address: health and metrics. */
  readonly everywhere: readonly CompiledRoute[];
  /** Answers what never becomes a request of `handler`. */
  readonly refuse: RefuseConnection;
  readonly log: Logger;
  /** Milliseconds that a client has to send a whole request; slower ones get 408. Default a minute. */
  readonly requestTimeout?: number;
}

interface Listener {
  readonly server: Server;
  readonly sockets: Iterable<Socket>;
  /** Stays open when no plugin uses it. */
  readonly isKernels: boolean;
  table: RouteTable;
}

const REQUEST_TIMEOUT = 60_000;
/** Longer than the 60 s after which common load balancers close idle connections, so that they close first. */
const KEEP_ALIVE_TIMEOUT = 65_000;

/** The HTTP servers of the process, one an address; plugins that name the same address share it. */
export class Listeners {
  readonly #options: ListenersOptions;
  readonly #open = new Map<string, Listener>();
  #isLeaving = false;

  constructor(options: ListenersOptions) {
    this.#options = options;
  }

  key(address: Address): string {
    return `${address.host}:${address.port}`;
  }

  /** Binds an address; the kernel's own stays open while no plugin uses it. @throws ListenError naming the plugin. */
  async open(address: Address, owner: string, isKernels = false): Promise<void> {
    const key = this.key(address);
    if (this.#open.has(key)) return;
    const table = new RouteTable(this.#options.everywhere);
    const current = () => this.#open.get(key)?.table ?? table;
    const { requestTimeout = REQUEST_TIMEOUT, refuse } = this.#options;
    const handle = this.#options.handler(current);
    const serve = inTurn((request, response) => {
      if (this.#isLeaving) endWithLast(request.socket);
      handle(request, response);
    });
    const server = createServer(
      {
        requestTimeout,
        headersTimeout: requestTimeout,
        connectionsCheckingInterval: requestTimeout / 4,
        keepAliveTimeout: KEEP_ALIVE_TIMEOUT,
        noDelay: true,
        // The chain refuses a request without Host, like anything else.
        requireHostHeader: false,
        ServerResponse: GatewayResponse,
      },
      serve,
    );
    // The chain refuses other expectations, and reading a body asks for it.
    server.on('checkContinue', serve).on('checkExpectation', serve);
    // Node hands the connection over without a listener for its errors.
    server.on('connect', (request, stream) => {
      const socket = stream as Socket;
      socket.on('error', () => socket.destroy());
      if (answersOn(socket).length > 0) {
        socket.destroy();
        return;
      }
      const response = new GatewayResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket);
      response.once('finish', () => linger(socket));
      serve(request, response);
    });
    server.on('clientError', (cause, stream) => refuse(cause, stream as Socket, answersOn(stream as Socket)));
    const sockets = connectionsOf(server);
    giveUpSlowClients(server, sockets);
    await listen(server, address, owner);
    this.#open.set(key, { server, sockets, isKernels, table });
    this.#options.log.info({ address: this.url(address), owner }, 'listening');
  }

  /**
   * Builds new tables for all addresses; the returned function swaps them in at once and closes the addresses that
   * no plugin uses any more.
   *
   * @throws RouteCollision
   */
  prepare(routes: ReadonlyMap<string, readonly CompiledRoute[]>): () => void {
    const { everywhere } = this.#options;
    const tableOf = (key: string) => new RouteTable([...everywhere, ...(routes.get(key) ?? [])]);
    const tables = new Map([...this.#open.keys()].map((key) => [key, tableOf(key)]));
    return () => {
      for (const [key, table] of tables) this.#open.get(key)!.table = table;
      this.closeOthers(new Set(routes.keys()));
    };
  }

  /** Closes the addresses that are not among `used`, but for the kernel's own. */
  closeOthers(used: ReadonlySet<string>): void {
    for (const [key, listener] of this.#open) {
      if (used.has(key) || listener.isKernels) continue;
      this.#open.delete(key);
      void closeGracefully(listener.server, listener.sockets);
    }
  }

  /** All routes that are live, of every address. */
  routes(): readonly CompiledRoute[] {
    const { everywhere } = this.#options;
    return [...new Set([...everywhere, ...[...this.#open.values()].flatMap(({ table }) => table.routes)])];
  }

  /** `http://host:port`, with the port that the system chose. */
  url(address: Address): string {
    return `http://${reachableAt(this.#open.get(this.key(address))?.server, address)}`;
  }

  /**
   * Requests are still accepted, but the last answer of a connection, if it has not begun, says `Connection: close`: a
   * client that would send its next request on the connection just when it is closed could not tell whether that was
   * handled.
   */
  leave(): void {
    this.#isLeaving = true;
    for (const { sockets } of this.#open.values()) for (const socket of sockets) endWithLast(socket);
  }

  /** Stops accepting on every address; connections without a request are closed, others finish theirs. */
  async close(): Promise<void> {
    await Promise.all(this.#open.values().map(({ server, sockets }) => closeGracefully(server, sockets)));
    this.#open.clear();
  }

  /** Cuts what is still open. */
  destroy(): void {
    for (const { sockets } of this.#open.values()) for (const socket of sockets) socket.destroy();
  }
}
