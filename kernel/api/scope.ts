import type Router from '@koa/router';
import type { TSchema } from 'typebox';
import type {
  DurableEventHandler,
  DurableEventRef,
  SubscribeOptions,
} from '../../foundation/messages/durable-events/durable-events.ts';
import type { EventListener, EventRef } from '../../foundation/messages/events/events.ts';
import type { HintHandler, HintOptions, HintRef } from '../../foundation/messages/hints/hints.ts';
import type { JobHandler, JobRef, WorkerOptions } from '../../foundation/messages/jobs/jobs.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import type { PluginMetrics } from '../../foundation/observability/plugin-metrics.ts';
import type { KindDefinition, ResourceView } from '../../foundation/resources/kind.ts';
import type { AnyAuthenticator } from '../auth/authenticator.ts';
import type { GrpcService } from './grpc.ts';
import type { ExtensionPoint, ServiceRef } from './refs.ts';
import type { MountOptions, Route } from './route.ts';
import type { KernelServices } from './services.ts';
import type { RequestStage } from './stage.ts';

/**
 * How a plugin affects what is outside of it. What a verb does becomes visible when `setup` has resolved, and is undone
 * automatically, in reverse order, when the plugin stops.
 */
export interface Scope<C = unknown> {
  /** The plugin's name. */
  readonly name: string;
  /** The validated configuration, with defaults. */
  readonly config: C;
  /** Logs with the plugin's name. */
  readonly log: Logger;
  /** Aborts when the drain time of a stopping plugin is over. */
  readonly signal: AbortSignal;
  /** What the kernel offers: database, tenants, API keys, clock, ids … */
  readonly services: KernelServices;

  /**
   * Serves HTTP routes on the plugin's address. A method and path that is taken fails the start, naming both owners.
   */
  route(...routes: readonly Route[]): void;
  /**
   * Serves everything below `prefix` through an existing `@koa/router`, behind one access rule. A router with paths
   * that begin with the prefix is asked with the whole path, any other with what follows the prefix.
   */
  mount(prefix: string, router: Router, options: MountOptions): void;
  /**
   * Serves a gRPC service on `SVC_GRPC_ADDR`. One that another plugin serves fails the start and names both owners.
   *
   * @throws Error when the proto file cannot be read, or does not say the same as the methods.
   */
  grpc(...services: readonly GrpcService[]): void;
  /** Registers a kind of YAML resources of agents.d. The view is empty until the plugin is published. */
  kind<S extends TSchema, T>(definition: KindDefinition<S, T>): ResourceView<T>;
  /** Adds a kind of credential, after the kernel's own. With `needsBody: true` it sees bodies at its `places`. */
  authenticate(authenticator: AnyAuthenticator): void;
  /** Asks the plugin about every HTTP request of every plugin: headers, tenants by host name, refusals of its own. */
  stage(stage: RequestStage): void;
  /** Offers the value behind one of the plugin's `offers`. */
  provide<T>(ref: ServiceRef<T>, value: T): void;
  /** Adds to an extension point, also of a plugin that is not there (yet). */
  contribute<T>(point: ExtensionPoint<T>, value: T): void;
  /**
   * The live contributions to a point, in order of arrival; a fresh array at each call. Also those of plugins that
   * stop, while background work of what stops with them goes on.
   */
  contributions<T>(point: ExtensionPoint<T>): () => readonly T[];
  /**
   * Hears an event of this and of every other replica, until the plugin is gone. A listener that throws is logged. An
   * event may be missed: `services.events.onMissed` reports when to drop what was cached. At the start of the gateway
   * listeners, workers and tasks begin when every plugin has been set up or has failed; events and messages of the time
   * before wait.
   */
  on<T>(event: EventRef<T>, listener: EventListener<NoInfer<T>>): void;
  /**
   * Hears hints of one kind; each reaches one replica. At stop it takes no more, and those under way get the drain
   * time. A hint may be lost: look for work in your own tables too, with `every`. What must not be lost is a job.
   */
  onHint<T>(hint: HintRef<T>, handle: HintHandler<NoInfer<T>>, options?: HintOptions): void;
  /**
   * Does the jobs of one queue: each at least once, by one replica at a time. At stop it takes no more; those under way
   * get the drain time, then they go back. A job that the plugin lists in `jobs` needs its worker.
   */
  worker<T>(job: JobRef<T>, handle: JobHandler<NoInfer<T>>, options?: WorkerOptions): void;
  /**
   * Handles every durable event of one kind, from the first activation on: each at least once, by one replica, wherever
   * it was published. While no replica runs the plugin, what happens is kept for it for an hour. In what order is not
   * promised. An attempt that fails is tried again, as with jobs; the handler recognizes what it has done by
   * `context.id`.
   *
   * @throws TypeError for options out of their bounds
   */
  subscribe<T>(
    event: DurableEventRef<T>,
    handle: DurableEventHandler<NoInfer<T>>,
    options?: SubscribeOptions,
  ): void;
  /**
   * Runs `task` every `milliseconds` (10 ms to a year, never two at once) until the plugin stops; a failure is logged.
   * The first time after one period, or `immediately`, when published. A `name` is unique in the plugin.
   *
   * With `replicas: 'one'` one replica runs it each time, whatever restarts: the database keeps when it is due. What
   * comes due during a run, or while no process is there, is made up for once at most. A run whose process died is done
   * again after 5 to 20 s, so it bears being done twice; its signal aborts when another replica may have begun.
   * `immediately` counts where it never ran before.
   */
  every(
    name: string,
    milliseconds: number,
    task: (signal: AbortSignal) => Promise<void>,
    options?: { readonly immediately?: boolean; readonly replicas?: 'all' | 'one' },
  ): void;
  /**
   * The same on one replica at the times of a cron pattern of five fields (`0 3 * * *`), which are those of `timezone`
   * (`Europe/Berlin`; default UTC). Where neither minute nor hour has a `*` or a step, a time that a clock change
   * leaves out is the moment after it, and one that comes twice counts once.
   *
   * @throws TypeError for a pattern without any time, and for what is none
   */
  cron(
    name: string,
    pattern: string,
    task: (signal: AbortSignal) => Promise<void>,
    options?: { readonly timezone?: string },
  ): void;
  /**
   * Ends work that goes on in the background, when the plugin stops. Called once at the begin of the stop, in parallel
   * with the calls in flight: takes no new work and resolves when what is under way has ended or was handed over.
   * `signal` aborts when the drain time is over; then it has 3 seconds more. Until it has ended, every plugin that
   * stops at the same time is still there. Not called for a plugin that never became active.
   */
  drain(name: string, finish: (signal: AbortSignal) => Promise<void>): void;
  /** Joins `/health/ready`: resolves when healthy, throws when not. Has 2 seconds. */
  probe(name: string, check: (signal: AbortSignal) => Promise<void>): void;
  /** Makes Prometheus metrics that leave the registry with the plugin. */
  readonly metric: PluginMetrics;
  /** Runs at stop, in reverse order of registration, 10 seconds at most. */
  defer(undo: () => void | Promise<void>): void;
}
