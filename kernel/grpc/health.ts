import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import { access } from '../api/access.ts';
import { type GrpcCall, type GrpcService, grpcMethod, grpcService } from '../api/grpc.ts';
import { GrpcErrors, type MethodTable } from './compiled-service.ts';

/** What health tells about. */
export interface HealthParts {
  /** The methods that are live. */
  readonly table: () => MethodTable;
  /** False before everything is up, and from the beginning of the end. */
  readonly isServing: () => boolean;
}

/** `grpc.health.v1.Health`. */
export interface Health {
  readonly service: GrpcService;
  /** Services have come or gone. */
  changed(): void;
  /** From now on nothing is served; those who watch are told. */
  close(): void;
}

type ServingStatus = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';

/** Those who watch at one time; they need no credential, so there is a bound. */
const MAX_WATCHES = 1000;
/** Milliseconds between looks at `isServing` while somebody watches. */
const LOOK_INTERVAL = 250;

/**
 * Tells load balancers whether a service is served: every live one is as healthy as the gateway, and so is the empty name.
 * It is open to everybody, not limited and not recorded, like `/health/*`.
 */
export function createHealth({ table, isServing }: HealthParts): Health {
  let isClosed = false;
  const watches = new Watches(MAX_WATCHES);

  function statusOf(service: string): ServingStatus {
    if (service !== '' && !table().has(service)) return 'SERVICE_UNKNOWN';
    return isServing() && !isClosed ? 'SERVING' : 'NOT_SERVING';
  }

  async function* watch(call: GrpcCall): AsyncGenerator<{ status: ServingStatus }> {
    using changes = watches.enter();
    const { service } = call.request;
    for (;;) {
      const told = statusOf(service);
      yield { status: told };
      await changes.until(() => statusOf(service) !== told, call.signal);
    }
  }

  const common = { access: access.public(), effect: 'read', rateLimit: 'none' } as const;
  const service = grpcService({
    proto: new URL('./proto/grpc/health/v1/health.proto', import.meta.url),
    service: 'grpc.health.v1.Health',
    methods: {
      Check: grpcMethod({
        ...common,
        summary: 'Whether a service is served',
        handle: ({ request }) => {
          const status = statusOf(request.service);
          if (status === 'SERVICE_UNKNOWN') throw GrpcErrors.unknownService();
          return { status };
        },
      }),
      List: grpcMethod({
        ...common,
        summary: 'All services and whether they are served',
        handle: () => {
          const names = ['', ...table().services.map(({ name }) => name)];
          return { statuses: Object.fromEntries(names.map((name) => [name, { status: statusOf(name) }])) };
        },
      }),
      Watch: grpcMethod({
        ...common,
        summary: 'Whether a service is served, now and whenever that changes',
        handle: watch,
      }),
    },
  });
  return {
    service,
    changed: () => watches.look(),
    close: () => {
      isClosed = true;
      watches.look();
    },
  };
}

/** Somebody who waits for a change. */
interface Waiting {
  readonly isDue: () => boolean;
  readonly resume: () => void;
}

/** Those who wait for a change; while there are any, it is looked for. */
class Watches {
  readonly #max: number;
  readonly #waiting = new Set<Waiting>();
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Joins until it is disposed of; `until` resolves when the condition holds, and rejects when the signal aborts.
   *
   * @throws `limit.streams` when too many watch already.
   */
  enter(): Disposable & { until(isDue: () => boolean, signal: AbortSignal): Promise<void> } {
    if (this.#count >= this.#max) throw KernelErrors.tooManyStreams('Too many clients watch health');
    this.#count += 1;
    this.#timer ??= setInterval(() => this.look(), LOOK_INTERVAL).unref();
    return {
      until: (isDue, signal) => this.#wait(isDue, signal),
      [Symbol.dispose]: () => this.#leave(),
    };
  }

  /** Looks who has something to tell. */
  look(): void {
    for (const { isDue, resume } of this.#waiting) if (isDue()) resume();
  }

  async #wait(isDue: () => boolean, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (isDue()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = { isDue, resume: resolve };
    const stop = () => resolve();
    this.#waiting.add(waiting);
    signal.addEventListener('abort', stop);
    try {
      await promise;
      signal.throwIfAborted();
    } finally {
      this.#waiting.delete(waiting);
      signal.removeEventListener('abort', stop);
    }
  }

  #leave(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
