import type Router from '@koa/router';
import type { Authenticator } from '../auth/authenticator.ts';
import type { Logger } from '../observability/logger.ts';
import type { PluginMetrics } from '../observability/plugin-metrics.ts';
import type { Access } from './access.ts';
import type { ExtensionPoint, ServiceRef } from './refs.ts';
import type { Route } from './route.ts';
import type { KernelServices } from './services.ts';

/**
 * How a plugin touches the world. What a verb does becomes visible when `setup` has resolved, and is undone by itself,
 * in reverse order, when the plugin stops.
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

  /** Serves HTTP routes on the plugin's address. A method and path that is taken fails the start and names both owners. */
  route(...routes: readonly Route[]): void;
  /** Serves everything below `prefix` through an existing @koa/router, behind one access rule. */
  mount(prefix: string, router: Router, options: { access: Access; summary: string }): void;
  /** Adds a kind of credential to the chain, after the kernel's own. */
  authenticate(authenticator: Authenticator): void;
  /** Offers the value behind one of the plugin's `offers`. */
  provide<T>(ref: ServiceRef<T>, value: T): void;
  /** Adds to an extension point, also of a plugin that is not there (yet). */
  contribute<T>(point: ExtensionPoint<T>, value: T): void;
  /** The live contributions to a point, in order of arrival; a fresh array at each call. */
  contributions<T>(point: ExtensionPoint<T>): () => readonly T[];
  /** Runs `task` every `milliseconds` (never two at once) until the plugin stops; a failure is logged and counted. */
  every(name: string, milliseconds: number, task: (signal: AbortSignal) => Promise<void>): void;
  /** Joins `/health/ready`: resolves when healthy, throws when not. Has 2 seconds. */
  probe(name: string, check: (signal: AbortSignal) => Promise<void>): void;
  /** Makes Prometheus metrics that leave the registry with the plugin. */
  readonly metric: PluginMetrics;
  /** Runs at stop, in reverse order of registration, 10 seconds at most. */
  defer(undo: () => void | Promise<void>): void;
}
