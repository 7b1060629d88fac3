import type { CompiledService } from './compiled-service.ts';
import type { GrpcServer, GrpcServerOptions } from './server.ts';

/**
 * gRPC in a gateway: the server, made when the first plugin has a service. Until then nothing of the library is loaded,
 * which would be a twentieth of all modules. See `GrpcServer` for what each verb does.
 */
export class Grpc {
  readonly #options: GrpcServerOptions;
  #server: GrpcServer | undefined;

  constructor(options: GrpcServerOptions) {
    this.#options = options;
  }

  get address(): string | undefined {
    return this.#server?.address;
  }

  async open(owner: string): Promise<void> {
    const { GrpcServer } = await import('./server.ts');
    this.#server ??= new GrpcServer(this.#options);
    await this.#server.open(owner);
  }

  /** Services are there after `open` only. */
  prepare(services: readonly CompiledService[]): () => void {
    return this.#server?.prepare(services) ?? (() => {});
  }

  async abandon(): Promise<void> {
    await this.#server?.abandon();
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  destroy(): void {
    this.#server?.destroy();
  }
}
