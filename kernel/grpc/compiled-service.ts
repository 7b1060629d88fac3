import type { InFlight } from '../../foundation/base/in-flight.ts';
import { createValidator, type Validator } from '../../foundation/base/json-schema.ts';
import { checkServed } from '../../foundation/code/served-form.ts';
import type { FileDescriptor } from '../../foundation/protobuf/descriptors.ts';
import { loadProto, type ProtoMethod, type ProtoService } from '../../foundation/protobuf/load-proto.ts';
import type { Access } from '../api/access.ts';
import type { GrpcMethod, GrpcService } from '../api/grpc.ts';

/** A method that is ready to serve: its owner is known, its schema is compiled, its messages can be read. */
export interface CompiledMethod extends ProtoMethod {
  /** Name of the plugin, or `kernel`. */
  readonly owner: string;
  /** `svc.notes.v1.NotesService/GetNote`: the metric label. */
  readonly name: string;
  readonly access: Access;
  /** The HTTP method that asks for the same scope, for `decide`. */
  readonly scopeMethod: 'GET' | 'POST';
  readonly rateLimit: 'standard' | 'none';
  readonly validate: Validator | undefined;
  /** Counts the calls of the plugin generation that this method belongs to. */
  readonly inFlight: InFlight;
  readonly definition: GrpcMethod;
}

/** A service that is ready to serve. */
export interface CompiledService {
  /** Full name. */
  readonly name: string;
  readonly owner: string;
  readonly methods: readonly CompiledMethod[];
  /** What it was compiled from. */
  readonly declaration: GrpcService;
  /** The files that declare it and all that it needs, linked. */
  readonly files: readonly FileDescriptor[];
}

/** A service of a plugin, as far as it is known without the library. */
export interface DeclaredService {
  /** Full name. */
  readonly name: string;
  readonly owner: string;
  readonly declaration: GrpcService;
  /** Counts the calls of the plugin generation that it belongs to. */
  readonly inFlight: InFlight;
  /** Absent until a client needs it, for a service that is `lazy`. */
  compiled?: CompiledService | undefined;
}

/**
 * Reads the proto file and joins it with what is declared.
 *
 * @throws GrpcDeclarationError for a file that cannot be read, a service that it does not declare, a method that is
 * declared on one side only; Error for a malformed member. Schemas are compiled at the first request.
 */
export function compileService(service: GrpcService, owner: string, inFlight: InFlight): CompiledService {
  const { service: name, methods: implemented } = service;
  const { methods, files } = load(service);
  const extra = Object.keys(implemented).find((method) => !methods.has(method));
  if (extra !== undefined) throw new GrpcDeclarationError(`${name}: the proto file has no method ${extra}`);
  return {
    name,
    owner,
    files,
    declaration: service,
    methods: [...methods].map(([method, proto]) => {
      const definition = implemented[method];
      if (definition === undefined) {
        throw new GrpcDeclarationError(`${name}: the method ${method} of the proto file is not implemented`);
      }
      return compileMethod(`${name}/${method}`, proto, definition, { owner, inFlight });
    }),
  };
}

/** A declared service, compiled once. @throws like `compileService`. */
export function compiledOf(service: DeclaredService): CompiledService {
  service.compiled ??= compileService(service.declaration, service.owner, service.inFlight);
  return service.compiled;
}

function load(service: GrpcService): ProtoService {
  try {
    return loadProto(service);
  } catch (cause) {
    throw new GrpcDeclarationError(`${service.service}: ${(cause as Error).message}`, { cause });
  }
}

function compileMethod(
  name: string,
  proto: ProtoMethod,
  definition: GrpcMethod,
  belongings: { readonly owner: string; readonly inFlight: InFlight },
): CompiledMethod {
  const { access, effect = 'write', request, rateLimit = 'standard' } = definition;
  checkServed('method', name, definition);
  return {
    ...proto,
    ...belongings,
    name,
    access: withScope(access, effect),
    scopeMethod: effect === 'read' ? 'GET' : 'POST',
    rateLimit,
    validate: request === undefined ? undefined : createValidator(request, 'body'),
    definition,
  };
}

/** An HTTP method says only `read` or `write`; the scope `execute` has to be in the rule itself. */
function withScope(access: Access, effect: string): Access {
  if (effect !== 'execute' || (access.kind !== 'open' && access.kind !== 'roles')) return access;
  return access.scopes.length > 0 ? access : { ...access, scopes: ['execute'] };
}

/** The live methods, immutable: a change of plugins swaps in a new table, so a call sees all of a plugin or nothing. */
export class MethodTable {
  readonly services: readonly CompiledService[];
  readonly #methods = new Map<string, CompiledMethod>();

  /** @param services of distinct names, see `requireDistinct` */
  constructor(services: readonly CompiledService[]) {
    this.services = services;
    for (const { methods } of services) for (const method of methods) this.#methods.set(method.path, method);
  }

  /** Finds the method of a path: `/svc.notes.v1.NotesService/GetNote`. */
  find(path: string): CompiledMethod | undefined {
    return this.#methods.get(path);
  }

  has(service: string): boolean {
    return this.services.some(({ name }) => name === service);
  }
}

/** A service of a plugin cannot be served as it is declared: says which, and what is wrong. */
export class GrpcDeclarationError extends Error {
  override readonly name = 'GrpcDeclarationError';
}
