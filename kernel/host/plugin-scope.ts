import type { Middleware } from 'koa';
import type { TSchema } from 'typebox';
import type { InFlight } from '../../foundation/base/in-flight.ts';
import { refuseMisspelled } from '../../foundation/base/nearest-name.ts';
import { requireOwnName } from '../../foundation/base/offers.ts';
import { checkContribution } from '../../foundation/code/contribution-form.ts';
import { checkServed } from '../../foundation/code/served-form.ts';
import type { Claim } from '../../foundation/messages/claims.ts';
import {
  type DurableEventsHost,
  subscription,
} from '../../foundation/messages/durable-events/durable-events.ts';
import type { Events } from '../../foundation/messages/events/events.ts';
import { checkHintOptions } from '../../foundation/messages/hints/create-hints.ts';
import type { Hints } from '../../foundation/messages/hints/hints.ts';
import { checkWorkerOptions } from '../../foundation/messages/jobs/job-worker.ts';
import type { JobsHost } from '../../foundation/messages/jobs/jobs.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import type { PluginMetrics } from '../../foundation/observability/plugin-metrics.ts';
import type { KindDefinition } from '../../foundation/resources/kind.ts';
import type { ResourceHost } from '../../foundation/resources/resources.ts';
import { runPeriodically } from '../../foundation/schedules/periodic.ts';
import { cronPlan, everyPlan } from '../../foundation/schedules/plan.ts';
import { runScheduled } from '../../foundation/schedules/scheduled.ts';
import type { Plugin } from '../api/plugin.ts';
import type { ExtensionPoint } from '../api/refs.ts';
import type { Scope } from '../api/scope.ts';
import type { KernelServices } from '../api/services.ts';
import { compileMount, compileRoute } from '../http/compiled-route.ts';
import type { Effects, Task } from './effects.ts';

/** Of a task; it is part of a key. */
const TASK_NAME = /^[\x21-\x7e]{1,100}$/;

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
  readonly durableEvents: Pick<DurableEventsHost, 'subscribe'>;
  readonly resources: Pick<ResourceHost, 'register'>;
  readonly metric: PluginMetrics;
  readonly effects: Effects;
  readonly inFlight: InFlight;
  /** The live values of an extension point. */
  contributions(pointId: string): readonly unknown[];
  /** The extension points of the gateway, and of all plugins that there are. */
  readonly points: readonly ExtensionPoint<unknown>[];
}

/** The scope of one set-up: every verb notes an effect; after `close` none is possible, since none could be undone. */
export function createScope(parts: ScopeParts): { readonly scope: Scope; close(): void } {
  const { plugin, config, log, signal, services, metric, events, hints, jobs, inFlight } = parts;
  const { name } = plugin;
  const scheduling = { ...services, log };
  const namesOf = (task: string) => ({
    name: `${name}.${task}`,
    formerly: plugin.formerly?.map((former) => `${former}.${task}`),
  });
  let isClosed = false;

  function open(verb: string): Effects {
    if (isClosed) throw new Error(`${name} called scope.${verb} after its set-up was over`);
    return parts.effects;
  }

  function claim(verb: string, { kind, id, schema }: Omit<Claim, 'plugin'>): Effects {
    const effects = open(verb);
    effects.claims.push({ plugin: name, kind, id, ...(schema && { schema }) });
    return effects;
  }

  function addTask(verb: string, task: string, start: Task['start']): void {
    const { tasks } = open(verb);
    if (!TASK_NAME.test(task)) throw new Error(`${name}: "${task}" is no name of a task`);
    if (tasks.some((known) => known.name === task)) throw new Error(`${name} has two tasks named ${task}`);
    tasks.push({ name: task, start });
  }

  const scope: Scope = {
    name,
    config,
    log,
    signal,
    services,
    metric,

    route(...routes) {
      const effects = open('route');
      for (const route of routes) effects.routes.push(compileRoute(route, name, inFlight));
    },

    mount(prefix, router, options) {
      const routes = router.routes() as unknown as Middleware;
      const base = prefix.replace(/\/$/, '');
      const isWhole = router.stack.some(({ path }) => String(path).startsWith(base));
      const middleware: Middleware = isWhole
        ? routes
        : (context, next) => {
            // The router asks this before `path`, which stays as the client sent it.
            Object.assign(context, { newRouterPath: context.path.slice(base.length) || '/' });
            return routes(context, next);
          };
      open('mount').routes.push(compileMount({ prefix, middleware, ...options }, name, inFlight));
    },

    grpc(...declared) {
      open('grpc').declaredServices.push(...declared);
    },

    kind<S extends TSchema, T>(definition: KindDefinition<S, T>) {
      const effects = open('kind');
      const registration = parts.resources.register<T>(definition, { plugin: name, log });
      effects.kinds.push(registration);
      effects.undo.push(() => registration.retire());
      return registration.view;
    },

    authenticate(authenticator) {
      refuseMisspelled(`${name}: ${authenticator.name}`, authenticator, ['places', 'needsBody']);
      if (authenticator.needsBody === true && !authenticator.places?.length)
        throw new Error(`${name}: ${authenticator.name} sees bodies, and names no place`);
      claim('authenticate', { kind: 'credential', id: authenticator.name }).authenticators.push(
        authenticator,
      );
    },

    stage(stage) {
      checkServed('stage', `a stage of ${name}`, stage);
      const { stages } = open('stage');
      if (stages.some((known) => known.stage.name === stage.name))
        throw new Error(`${name} has two stages named ${stage.name}`);
      stages.push({ plugin: name, stage, log, inFlight });
    },

    provide(ref, value) {
      const { provided } = open('provide');
      if (!plugin.offers?.some((offered) => offered.id === ref.id)) {
        throw new Error(`${name} provides ${ref.id} without naming it in "offers"`);
      }
      if (provided.has(ref.id)) throw new Error(`${name} provides ${ref.id} twice`);
      provided.set(ref.id, value);
    },

    contribute(point, value) {
      requireOwnName(name, value);
      checkContribution(name, point.id, value, parts.points);
      open('contribute').contributions.push({ pointId: point.id, value });
    },

    contributions<T>(point: ExtensionPoint<T>) {
      if (!plugin.points?.some((declared) => declared.id === point.id)) {
        throw new Error(`${name} reads ${point.id} without naming it in "points"`);
      }
      return () => [...parts.contributions(point.id)] as T[];
    },

    on(event, listener) {
      const start = (begun?: Promise<boolean>) => {
        if (begun === undefined) return events.on(event, listener);
        return events.on(event, async (payload, meta) => {
          if (await begun) await listener(payload, meta);
        });
      };
      claim('on', event).listeners.push({ name: event.id, start });
    },

    onHint(hint, handle, options) {
      // Checked here, where a mistake still fails the set-up: listening begins when everything is published.
      checkHintOptions(options);
      claim('onHint', hint).hints.push({ name: hint.id, start: () => hints.listen(hint, handle, options) });
    },

    worker(job, handle, options) {
      checkWorkerOptions(options);
      const { workers } = claim('worker', job);
      if (workers.some((known) => known.name === job.id))
        throw new Error(`${name} has two workers for ${job.id}`);
      workers.push({ name: job.id, start: () => jobs.work(job, handle, options) });
    },

    subscribe(event, handle, options) {
      const { workers } = claim('subscribe', event);
      const one = subscription(name, event, handle, options);
      if (workers.some((known) => known.name === one.job.id))
        throw new Error(`${name} subscribes to ${event.id} twice: name one of the two`);
      workers.push({ name: one.job.id, start: () => parts.durableEvents.subscribe(one) });
    },

    every(task, milliseconds, run, options = {}) {
      const { immediately = false, replicas = 'all' } = options;
      const plan = everyPlan(milliseconds, options);
      addTask('every', task, (signal) =>
        replicas === 'all'
          ? runPeriodically({ name: task, milliseconds, task: run, immediately }, signal, log)
          : runScheduled({ ...namesOf(task), plan, task: run, immediately }, signal, scheduling),
      );
    },

    cron(task, pattern, run, options) {
      const due = { plan: cronPlan(pattern, options), task: run, immediately: false };
      addTask('cron', task, (signal) => runScheduled({ ...namesOf(task), ...due }, signal, scheduling));
    },

    drain(work, finish) {
      open('drain').drains.push({ name: work, finish });
    },

    probe(part, check) {
      open('probe').probes.push({ name: `${name}.${part}`, check });
    },

    defer(undo) {
      open('defer').undo.push(undo);
    },
  };
  return {
    scope,
    close() {
      isClosed = true;
    },
  };
}
