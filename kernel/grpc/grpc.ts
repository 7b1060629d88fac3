import type { Socket } from 'node:net';
import { lazy } from '../../foundation/base/lazy.ts';
import { type Door, openDoor } from '../../foundation/grpc/door.ts';
import type { TlsFiles } from '../../foundation/grpc/tls.ts';
import type { Address } from '../../foundation/http/address.ts';
import type { DeclaredService } from './compiled-service.ts';
import { requireDistinct } from './distinct-services.ts';
import type { GrpcServer, GrpcServerOptions } from './server.ts';

export type Grpc = ReturnType<typeof createGrpc>;

/** What is loaded with the first connection. */
interface Loaded {
  readonly server: GrpcServer;
  /** The services, ready to serve; those that cannot be served are logged and left out. */
  readonly swap: (services: readonly DeclaredService[]) => () => void;
}

/** How gRPC is served. */
export interface GrpcOptions extends GrpcServerOptions {
  readonly address: Address;
  /** Without it connections are not encrypted. */
  readonly tls?: TlsFiles | undefined;
  /** Milliseconds between looks at the files of TLS; default 30 000. */
  readonly tlsInterval?: number;
}

/**
 * gRPC in a gateway. The address opens with the first plugin that has a service; the server behind it is made with the
 * first connection: until then nothing of the library is loaded, a tenth of all modules. TLS needs it at once.
 */
export function createGrpc(options: GrpcOptions) {
  const { address, tls, tlsInterval, chain } = options;
  const { log } = chain;
  let live: readonly DeclaredService[] = [];
  let isUsed = false;
  let loaded: Loaded | undefined;
  let opening: Promise<Door> | undefined;
  let door: Door | undefined;

  async function secured() {
    if (tls === undefined) return undefined;
    const { openTls } = await import('../../foundation/grpc/tls.ts');
    return openTls(tls, chain, tlsInterval);
  }

  async function load(): Promise<Loaded> {
    const [{ GrpcServer }, { compiledOf }] = await Promise.all([
      import('./server.ts'),
      import('./compiled-service.ts'),
    ]);
    const server = new GrpcServer(options, await secured());
    const usable = (service: DeclaredService) => {
      try {
        return [compiledOf(service)];
      } catch (err) {
        log.error({ err, service: service.name, owner: service.owner }, 'a gRPC service cannot be served');
        return [];
      }
    };
    const swap = (services: readonly DeclaredService[]) => server.prepare(services.flatMap(usable));
    swap(live)();
    loaded = { server, swap };
    return loaded;
  }

  const loading = lazy(load);

  async function connected(socket: Socket): Promise<void> {
    try {
      const { server } = loaded ?? (await loading.get());
      if (!socket.destroyed) server.adopt(socket);
    } catch (err) {
      log.error({ err }, 'the gRPC server cannot be started');
      socket.destroy();
    }
  }

  return {
    /** `127.0.0.1:50051`, with the port that the system chose; `undefined` while it does not listen. */
    get address(): string | undefined {
      return door?.address;
    },

    /** Binds the address, unless it is bound. @throws ListenError with plugin, address and variable, or TLS's fault. */
    async open(owner: string): Promise<void> {
      if (tls !== undefined) await loading.get();
      const isTls = tls !== undefined;
      opening ??= openDoor(address, owner, { connected: (socket) => void connected(socket), isTls, log });
      try {
        door = await opening;
      } catch (failure) {
        opening = undefined;
        throw failure;
      }
    },

    /** The returned function swaps these services in; calls under way go on as they began. @throws ServiceCollision */
    prepare(services: readonly DeclaredService[]): () => void {
      requireDistinct(services);
      const swap = loaded?.swap(services);
      return () => {
        live = services;
        isUsed ||= services.length > 0;
        (swap ?? loaded?.swap(services))?.();
      };
    },

    /** Closes the address when no service was ever live: the change that it was opened for has failed. */
    async abandon(): Promise<void> {
      if (isUsed) return;
      const opened = await opening?.catch(() => undefined);
      opening = undefined;
      door = undefined;
      void opened?.close();
      opened?.cut();
    },

    /** Stops accepting, asks every connection to go, and resolves when all calls are over. */
    async close(): Promise<void> {
      const gone = (await opening?.catch(() => undefined))?.close();
      await loading.begun?.catch(() => undefined);
      await Promise.all([gone, loaded?.server.close()]);
    },

    /** Cuts what is still open. */
    destroy(): void {
      loaded?.server.destroy();
      door?.cut();
    },
  };
}
