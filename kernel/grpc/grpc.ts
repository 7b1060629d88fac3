import type { CompiledService } from './compiled-service.ts';
import type { GrpcServer, GrpcServerOptions } from './server.ts';

export type Grpc = ReturnType<typeof createGrpc>;

/**
 * gRPC in a gateway: the server, made when the first plugin has a service. Until then nothing of the library is loaded,
 * which would be a twentieth of all modules. See `GrpcServer` for what each verb does.
 */
export function createGrpc(options: GrpcServerOptions) {
  let server: GrpcServer | undefined;

  return {
    get address(): string | undefined {
      return server?.address;
    },

    async open(owner: string): Promise<void> {
      const { GrpcServer } = await import('./server.ts');
      server ??= new GrpcServer(options);
      await server.open(owner);
    },

    /** Services are there after `open` only. */
    prepare(services: readonly CompiledService[]): () => void {
      return server?.prepare(services) ?? (() => {});
    },

    async abandon(): Promise<void> {
      await server?.abandon();
    },

    async close(): Promise<void> {
      await server?.close();
    },

    destroy(): void {
      server?.destroy();
    },
  };
}
