import type { DeclaredService } from './compiled-service.ts';

/** Two plugins want to serve one service. */
export class ServiceCollision extends Error {
  override readonly name = 'ServiceCollision';
  readonly owners: readonly [string, string];

  constructor(service: string, first: string, second: string) {
    super(`the gRPC service ${service} is served by both ${first} and ${second}`);
    this.owners = [first, second];
  }
}

/** Services of `grpc.*` are the kernel's. @throws ServiceCollision naming both owners. */
export function requireDistinct(services: readonly Pick<DeclaredService, 'name' | 'owner'>[]): void {
  const owners = new Map<string, string>();
  for (const { name, owner } of services) {
    const other = owners.get(name) ?? (name.startsWith('grpc.') ? 'kernel' : undefined);
    if (other !== undefined) throw new ServiceCollision(name, other, owner);
    owners.set(name, owner);
  }
}
