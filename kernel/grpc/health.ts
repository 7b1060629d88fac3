import { orAborted } from '../../foundation/base/deadline.ts';
import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import { GrpcErrors } from '../../foundation/grpc/errors.ts';
import { access } from '../api/access.ts';
import { type GrpcCall, type GrpcService, grpcMethod, grpcService } from '../api/grpc.ts';
import type { MethodTable } from './compiled-service.ts';

/** `grpc.health.v1.Health`. */
export interface Health {
  readonly service: GrpcService;
  /** Services have come or gone. */
  changed(): void;
  /** From now on nothing is served; clients that watch are notified. */
  close(): void;
}

type ServingStatus = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';

/** Clients that watch at one time; they need no credential, so there is a bound. */
const MAX_WATCHES = 1000;
/** Milliseconds between looks at `isServing` while a client watches. */
const LOOK_INTERVAL = 250;

/**
 * Reports to load balancers whether a service is served: every live one is as healthy as the gateway, and so is the
 * empty name. It is open to everybody, not limited and not recorded, like `/health/*`.
 *
 * @param table the methods that are live
 * @param isServing false before everything is up, and from the beginning of the end
 */
export function createHealth(table: () => MethodTable, isServing: () => boolean): Health {
  let isClosed = false;
  const watches = createWatches();

  function statusOf(service: string): ServingStatus {
    if (service !== '' && !table().has(service)) return 'SERVICE_UNKNOWN';
    return isServing() && !isClosed ? 'SERVING' : 'NOT_SERVING';
  }

  async function* watch(call: GrpcCall): AsyncGenerator<{ status: ServingStatus }> {
    using changes = watches.enter();
    const { service } = call.request;
    for (;;) {
      const reported = statusOf(service);
      yield { status: reported };
      await changes.until(() => statusOf(service) !== reported, call.signal);
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

/** A client that waits for a change. */
interface Waiting {
  readonly isDue: () => boolean;
  readonly resume: () => void;
}

/** The clients that wait for a change; while there are any, changes are looked for. */
function createWatches() {
  const waiting = new Set<Waiting>();
  let count = 0;
  let timer: NodeJS.Timeout | undefined;

  /** Resumes every client whose status has changed. */
  function look(): void {
    for (const { isDue, resume } of waiting) if (isDue()) resume();
  }

  async function wait(isDue: () => boolean, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const one = { isDue, resume: resolve };
    waiting.add(one);
    if (isDue()) resolve();
    try {
      await orAborted(promise, signal);
    } finally {
      waiting.delete(one);
    }
  }

  function leave(): void {
    count -= 1;
    if (count > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    look,

    /**
     * Joins until it is disposed of; `until` resolves when the condition holds, and rejects when the signal aborts.
     *
     * @throws `limit.streams` when too many watch already.
     */
    enter(): Disposable & { until(isDue: () => boolean, signal: AbortSignal): Promise<void> } {
      if (count >= MAX_WATCHES) throw KernelErrors.tooManyStreams('Too many clients watch health');
      count += 1;
      timer ??= setInterval(() => look(), LOOK_INTERVAL).unref();
      return {
        until: (isDue, signal) => wait(isDue, signal),
        [Symbol.dispose]: () => leave(),
      };
    },
  };
}
