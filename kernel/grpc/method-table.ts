import type { CompiledMethod, CompiledService } from './compiled-service.ts';
import { ServiceCollision } from './errors.ts';

/**
 * The methods that are live, immutable: a change of plugins builds a new table and swaps it in, so a call sees either all
 * methods of a plugin or none.
 */
export class MethodTable {
  readonly services: readonly CompiledService[];
  readonly #methods = new Map<string, CompiledMethod>();

  /** @throws ServiceCollision naming both owners. */
  constructor(services: readonly CompiledService[]) {
    this.services = services;
    const owners = new Map<string, string>();
    for (const { name, owner, methods } of services) {
      const other = owners.get(name);
      if (other !== undefined) throw new ServiceCollision(name, other, owner);
      owners.set(name, owner);
      for (const method of methods) this.#methods.set(method.path, method);
    }
  }

  /** Finds the method of a path: `/svc.notes.v1.NotesService/GetNote`. */
  find(path: string): CompiledMethod | undefined {
    return this.#methods.get(path);
  }

  has(service: string): boolean {
    return this.services.some(({ name }) => name === service);
  }
}
