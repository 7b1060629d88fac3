import type Router from '@koa/router';
import type { Middleware } from 'koa';
import type { TSchema } from 'typebox';
import type { EventListener, EventRef, Events } from '../../foundation/messages/events/events.ts';
import { checkHintOptions } from '../../foundation/messages/hints/create-hints.ts';
import type { HintHandler, HintOptions, HintRef, Hints } from '../../foundation/messages/hints/hints.ts';
import { checkWorkerOptions } from '../../foundation/messages/jobs/job-worker.ts';
import type { JobHandler, JobRef, JobsHost, WorkerOptions } from '../../foundation/messages/jobs/jobs.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import type { PluginMetrics } from '../../foundation/observability/plugin-metrics.ts';
import type { KindDefinition, ResourceView } from '../../foundation/resources/kind.ts';
import type { ResourceHost } from '../../foundation/resources/resources.ts';
import type { Access } from '../api/access.ts';
import type { GrpcService } from '../api/grpc.ts';
import type { Plugin } from '../api/plugin.ts';
import type { ExtensionPoint, ServiceRef } from '../api/refs.ts';
import type { Route } from '../api/route.ts';
import type { Scope } from '../api/scope.ts';
import type { KernelServices } from '../api/services.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import type { InFlight } from '../chain/in-flight.ts';
import { compileMount, compileRoute } from '../http/compiled-route.ts';
import type { Effects } from './effects.ts';

/** What a scope is made of. */
export interface ScopeParts {
  readonly plugin: Plugin;
  readonly config: unknown;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly services: KernelServices;
  readonly events: Pick<Events, 'on'>;
  readonly hints: Pick<Hints, 'listen'>;
  readonly jobs: Pick<JobsHost, 'work'>;
  readonly resources: Pick<ResourceHost, 'register'>;
  readonly metric: PluginMetrics;
  readonly effects: Effects;
  readonly inFlight: InFlight;
  /** The live values of an extension point. */
  contributions(pointId: string): readonly unknown[];
}

/** The scope of one set-up: every verb notes an effect, and none is possible once the set-up is over. */
export class PluginScope implements Scope {
  readonly name: string;
  readonly config: unknown;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly services: KernelServices;
  readonly metric: PluginMetrics;
  readonly #parts: ScopeParts;
  #isClosed = false;

  constructor(parts: ScopeParts) {
    this.name = parts.plugin.name;
    this.config = parts.config;
    this.log = parts.log;
    this.signal = parts.signal;
    this.services = parts.services;
    this.metric = parts.metric;
    this.#parts = parts;
  }

  route(...routes: readonly Route[]): void {
    const effects = this.#open('route');
    for (const route of routes) effects.routes.push(compileRoute(route, this.name, this.#parts.inFlight));
  }

  mount(prefix: string, router: Router, options: { access: Access; summary: string }): void {
    const middleware = router.routes() as unknown as Middleware;
    this.#open('mount').routes.push(
      compileMount({ prefix, middleware, ...options }, this.name, this.#parts.inFlight),
    );
  }

  grpc(...services: readonly GrpcService[]): void {
    this.#open('grpc').declaredServices.push(...services);
  }

  kind<S extends TSchema, T>(definition: KindDefinition<S, T>): ResourceView<T> {
    const effects = this.#open('kind');
    const owner = { plugin: this.name, log: this.log };
    const registration = this.#parts.resources.register<T>(definition, owner);
    effects.kinds.push(registration);
    effects.undo.push(() => registration.retire());
    return registration.view;
  }

  authenticate(authenticator: Authenticator): void {
    this.#open('authenticate').authenticators.push(authenticator);
  }

  provide<T>(ref: ServiceRef<T>, value: T): void {
    const { provided } = this.#open('provide');
    if (!this.#parts.plugin.offers?.some((offered) => offered.id === ref.id)) {
      throw new Error(`${this.name} provides ${ref.id} without naming it in "offers"`);
    }
    if (provided.has(ref.id)) throw new Error(`${this.name} provides ${ref.id} twice`);
    provided.set(ref.id, value);
  }

  contribute<T>(point: ExtensionPoint<T>, value: T): void {
    this.#open('contribute').contributions.push({ pointId: point.id, value });
  }

  contributions<T>(point: ExtensionPoint<T>): () => readonly T[] {
    if (!this.#parts.plugin.points?.some((declared) => declared.id === point.id)) {
      throw new Error(`${this.name} reads ${point.id} without naming it in "points"`);
    }
    return () => this.#parts.contributions(point.id) as readonly T[];
  }

  on<T>(event: EventRef<T>, listener: EventListener<NoInfer<T>>): void {
    const { events } = this.#parts;
    const start = (begun?: Promise<boolean>) => {
      if (begun === undefined) return events.on(event, listener);
      return events.on(event, async (payload, meta) => {
        if (await begun) await listener(payload, meta);
      });
    };
    this.#open('on').listeners.push({ name: event.id, start });
  }

  onHint<T>(hint: HintRef<T>, handle: HintHandler<NoInfer<T>>, options?: HintOptions): void {
    const { hints } = this.#parts;
    // Here, where a mistake is still the plugin's: listening begins when everything is published.
    checkHintOptions(options);
    this.#open('onHint').hints.push({ name: hint.id, start: () => hints.listen(hint, handle, options) });
  }

  worker<T>(job: JobRef<T>, handle: JobHandler<NoInfer<T>>, options?: WorkerOptions): void {
    const { jobs } = this.#parts;
    checkWorkerOptions(options);
    const { workers } = this.#open('worker');
    if (workers.some(({ name }) => name === job.id))
      throw new Error(`${this.name} has two workers for ${job.id}`);
    workers.push({ name: job.id, start: () => jobs.work(job, handle, options) });
  }

  every(
    name: string,
    milliseconds: number,
    task: (signal: AbortSignal) => Promise<void>,
    { immediately = false }: { readonly immediately?: boolean } = {},
  ): void {
    this.#open('every').tasks.push({ name, milliseconds, task, immediately });
  }

  drain(name: string, finish: (signal: AbortSignal) => Promise<void>): void {
    this.#open('drain').drains.push({ name, finish });
  }

  probe(name: string, check: (signal: AbortSignal) => Promise<void>): void {
    this.#open('probe').probes.push({ name: `${this.name}.${name}`, check });
  }

  defer(undo: () => void | Promise<void>): void {
    this.#open('defer').undo.push(undo);
  }

  /** From here on every verb throws: what came later could not be undone. */
  close(): void {
    this.#isClosed = true;
  }

  #open(verb: string): Effects {
    if (this.#isClosed) throw new Error(`${this.name} called scope.${verb} after its set-up was over`);
    return this.#parts.effects;
  }
}
