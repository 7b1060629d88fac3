import type { Plugin } from '../api/plugin.ts';
import type { KernelServices } from '../api/services.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import { parseGatewayFile } from '../config/gateway-file.ts';
import type { Logger } from '../observability/logger.ts';
import type { PluginMetrics } from '../observability/plugin-metrics.ts';
import type { Clock } from '../services/clock.ts';
import { changedEntries, type Desired, entryOf, planRun, type RunPlan } from './desired.ts';
import type { Discovered } from './discover.ts';
import { PluginChangeError } from './errors.ts';
import { buildGraph, type PluginGraph } from './graph.ts';
import { checkKernelRange } from './kernel-range.ts';
import type { PluginConfiguration } from './plugin-configuration.ts';
import { PluginInstance } from './plugin-instance.ts';
import type { Arrival, ListenAddress, Publication } from './publication.ts';
import { Slot } from './slot.ts';

/** Milliseconds that a plugin's `setup` may take. */
const SETUP_TIMEOUT = 30_000;

/** What the host is made of. */
export interface PluginHostOptions {
  readonly services: KernelServices;
  readonly publication: Publication;
  readonly configuration: PluginConfiguration;
  /** The gateway's own address, for plugins that name none. */
  readonly address: ListenAddress;
  /** `SVC_PLUGINS`; empty for all. */
  readonly only: readonly string[];
  /** Milliseconds; `gateway.yaml` may say otherwise for a plugin. */
  readonly drainTimeout: number;
  readonly setupTimeout?: number;
  readonly log: Logger;
  readonly clock: Clock;
  metricsFor(plugin: string): PluginMetrics & { dispose(): void };
}

/**
 * Brings the running plugins to the desired state, one change at a time. At the first start each plugin's failure is its
 * own. Every later change is whole or not at all: the new instances are set up beside the old ones, exchanged for them
 * in one turn, and the old ones drain; when one of the new cannot be set up, nothing has happened.
 */
export class PluginHost {
  readonly #options: PluginHostOptions;
  readonly #slots: ReadonlyMap<string, Slot>;
  readonly #plugins: ReadonlyMap<string, Plugin>;
  readonly #graph: PluginGraph;
  readonly #retiring = new Set<Promise<void>>();
  #desired: Desired = parseGatewayFile('gateway.yaml', undefined);
  #changes: Promise<unknown> = Promise.resolve();

  /** @throws PluginGraphError for a cycle, or two providers of one service. */
  constructor(discovered: readonly Discovered[], options: PluginHostOptions) {
    this.#options = options;
    const now = () => options.clock.now();
    const slots = new Map<string, Slot>();
    const plugins = new Map<string, Plugin>();
    for (const found of discovered) {
      const plugin = 'plugin' in found ? found.plugin : undefined;
      const slot = new Slot(found.name, found.folder, plugin, now);
      if ('error' in found) slot.fail(found.error);
      if (plugin !== undefined) plugins.set(found.name, plugin);
      slots.set(found.name, slot);
    }
    this.#slots = slots;
    this.#plugins = plugins;
    this.#graph = buildGraph([...plugins.values()]);
  }

  get slots(): readonly Slot[] {
    return [...this.#slots.values()];
  }

  get desired(): Desired {
    return this.#desired;
  }

  slot(name: string): Slot | undefined {
    return this.#slots.get(name);
  }

  /** Plugins that should run and do not, with the reason. */
  degraded(): readonly { readonly name: string; readonly reason: string }[] {
    return this.slots
      .filter(({ status }) => status.state === 'failed' || status.state === 'waiting')
      .map(({ name, status }) => ({ name, reason: status.current.reason }));
  }

  /**
   * The first start. A plugin that fails is reported, and the others serve.
   *
   * @throws PluginChangeError when one with `onFailure: abort` fails.
   */
  start(desired: Desired): Promise<void> {
    return this.#exclusively(async () => {
      this.#desired = desired;
      this.#noteUnknown(desired);
      const failed = new Set(
        [...this.#slots.values()].filter((s) => s.status.state === 'failed').map((s) => s.name),
      );
      for (const name of failed) this.#abortIfAsked(name, this.#slots.get(name)!.lastError?.message);
      for (;;) {
        const plan = planRun({ ...this.#conditions(desired), failed });
        const name = plan.run.find((candidate) => this.#slots.get(candidate)!.current === undefined);
        if (name === undefined) return this.#noteIdle(plan.idle);
        try {
          await this.#exchange([name], new Set(), 'started', desired);
        } catch (failure) {
          const cause = failure instanceof PluginChangeError ? failure.cause : failure;
          this.#slots.get(name)!.fail(cause);
          this.#options.log.error({ err: cause, plugin: name }, 'a plugin could not be started');
          // A variable that is wrong stops the start, whoever reads it (decisions 0.5).
          if (namesVariable(cause)) throw new PluginChangeError(name, cause);
          this.#abortIfAsked(name, cause);
          for (const dependent of this.#graph.dependentsOf(name)) {
            if (this.#needsTransitively(dependent, name)) this.#abortIfAsked(dependent, cause);
          }
          failed.add(name);
        }
      }
    });
  }

  /**
   * Goes to another desired state. Plugins whose entry changed, or that `restart` names, are set up anew, and with them
   * those that need or want them. Resolves when the new state serves; `drained` when the old instances are gone.
   *
   * @throws PluginChangeError with everything as it was.
   */
  change(desired: Desired, restart: readonly string[] = []): Promise<{ readonly drained: Promise<void> }> {
    return this.#exclusively(async () => {
      const touched = new Set([...restart, ...changedEntries(this.#desired, desired)]);
      const failed = new Set(
        this.slots.filter((s) => s.status.state === 'failed' && !touched.has(s.name)).map((s) => s.name),
      );
      const plan = planRun({ ...this.#conditions(desired), failed });
      const arriving: string[] = [];
      const leaving = new Set<string>();
      for (const name of this.#graph.order) {
        const runs = this.#slots.get(name)!.current !== undefined;
        const upstreamMoves = this.#upstreamOf(name).some((u) => arriving.includes(u) || leaving.has(u));
        const shouldRun = plan.run.includes(name);
        if (shouldRun && (!runs || touched.has(name) || upstreamMoves)) arriving.push(name);
        if (runs && (!shouldRun || arriving.includes(name))) leaving.add(name);
      }
      try {
        const { drained } = await this.#exchange(arriving, leaving, 'started anew', desired);
        this.#desired = desired;
        this.#noteIdle(plan.idle);
        return { drained };
      } catch (failure) {
        if (failure instanceof PluginChangeError) this.#slots.get(failure.plugin)?.fail(failure.cause);
        throw failure;
      }
    });
  }

  /** Stops every plugin, dependents first; calls in flight get `drainTimeout` ms. Changes under way are finished first. */
  stop(drainTimeout: number): Promise<void> {
    return this.#exclusively(async () => {
      const leaving = new Set(
        this.slots.filter((slot) => slot.current !== undefined).map((slot) => slot.name),
      );
      await this.#exchange([], leaving, 'the gateway stops', this.#desired, drainTimeout);
      await Promise.all(this.#retiring);
    });
  }

  #conditions(desired: Desired) {
    return { graph: this.#graph, plugins: this.#plugins, desired, only: this.#options.only };
  }

  /** Sets up `arriving` in order, publishes them in place of `leaving` in one turn, and lets those drain. */
  async #exchange(
    arriving: readonly string[],
    leaving: ReadonlySet<string>,
    reason: string,
    desired: Desired,
    drainTimeout?: number,
  ): Promise<{ readonly drained: Promise<void> }> {
    const staged = new Map<string, Arrival & { readonly milliseconds: number }>();
    let current = '';
    try {
      for (const name of arriving) {
        current = name;
        staged.set(name, await this.#setUp(name, staged, leaving, desired));
        // Builds the tables of this much already, so that a collision is told of the plugin that causes it.
        await this.#options.publication.prepare(leaving, staged);
      }
      const publish = await this.#options.publication.prepare(leaving, staged);
      const retire = this.#retire(
        leaving,
        new Set(arriving),
        (name) => drainTimeout ?? this.#drainTimeout(name, desired),
      );
      publish();
      for (const [name, { instance, milliseconds }] of staged) {
        this.#slots.get(name)!.started(instance, milliseconds, reason);
        this.#options.log.info({ plugin: name, ms: Math.round(milliseconds) }, `plugin ${reason}`);
      }
      return { drained: retire() };
    } catch (failure) {
      this.#options.publication.abandon();
      for (const { instance } of [...staged.values()].toReversed()) await instance.discard();
      for (const name of arriving) {
        const { status } = this.#slots.get(name)!;
        if (status.state === 'starting' && name !== current)
          status.set('stopped', `given up: ${current} failed`);
      }
      throw new PluginChangeError(current, failure);
    }
  }

  async #setUp(
    name: string,
    staged: ReadonlyMap<string, Arrival>,
    leaving: ReadonlySet<string>,
    desired: Desired,
  ): Promise<Arrival & { milliseconds: number }> {
    const { services, configuration, log, publication, clock, metricsFor, setupTimeout } = this.#options;
    const slot = this.#slots.get(name)!;
    const plugin = slot.plugin!;
    const began = clock.monotonic();
    if (slot.current === undefined) slot.status.set('starting', 'its set-up runs');
    checkKernelRange(plugin);
    const { config, hash, address } = configuration.read(plugin, desired);
    if (plugin.entities !== undefined || plugin.migrations !== undefined) {
      await services.database.register({
        owner: name,
        entities: plugin.entities ?? [],
        migrations: plugin.migrations ?? [],
      });
    }
    const lookUp = (id: string) => {
      const provider = this.#graph.providerOf(id);
      if (provider === undefined) return undefined;
      const arriving = staged.get(provider)?.instance.effects.provided.get(id);
      return arriving ?? (leaving.has(provider) ? undefined : publication.service(id));
    };
    const refs = Object.entries({ ...plugin.needs, ...plugin.wants }) as [string, { id: string }][];
    const instance = await PluginInstance.setUp({
      plugin,
      config,
      configHash: hash,
      services,
      log: log.child({ plugin: name }),
      upstream: Object.fromEntries(refs.map(([key, ref]) => [key, lookUp(ref.id)])),
      metric: metricsFor(name),
      setupTimeout: setupTimeout ?? SETUP_TIMEOUT,
      contributions: (pointId) => publication.contributions(pointId),
    });
    return { instance, address: address ?? this.#options.address, milliseconds: clock.monotonic() - began };
  }

  /** Takes the instances that leave out of their slots at once; the returned function drains them, dependents first. */
  #retire(
    leaving: ReadonlySet<string>,
    returning: ReadonlySet<string>,
    drainTimeout: (name: string) => number,
  ): () => Promise<void> {
    const order = this.#graph.order.filter((name) => leaving.has(name)).toReversed();
    const instances = order.map((name) => ({
      slot: this.#slots.get(name)!,
      instance: this.#slots.get(name)!.current!,
    }));
    return () => {
      for (const { slot } of instances) {
        if (returning.has(slot.name)) continue;
        slot.current = undefined;
        slot.status.set('draining', 'its calls in flight end');
      }
      // All were unpublished at the same moment, so their times run together while they are waited for in order.
      const { clock } = this.#options;
      const began = clock.monotonic();
      const work = (async () => {
        for (const { slot, instance } of instances) {
          slot.leaks = await instance.retire(
            Math.max(0, began + drainTimeout(slot.name) - clock.monotonic()),
          );
          for (const leak of slot.leaks)
            this.#options.log.error({ plugin: slot.name, leak }, 'a plugin left something');
          if (slot.status.state !== 'draining') continue;
          slot.status.set(slot.rest.state, slot.rest.reason);
          this.#options.log.info(
            { plugin: slot.name, reason: slot.rest.reason },
            `plugin ${slot.rest.state}`,
          );
        }
      })();
      this.#retiring.add(work);
      void work.finally(() => this.#retiring.delete(work));
      return work;
    };
  }

  #drainTimeout(name: string, desired: Desired): number {
    return entryOf(desired, name).drainTimeout ?? this.#options.drainTimeout;
  }

  #noteIdle(idle: RunPlan['idle']): void {
    for (const [name, rest] of idle) this.#slots.get(name)!.settle(rest);
  }

  #noteUnknown(desired: Desired): void {
    for (const name of desired.plugins.keys()) {
      if (!this.#slots.has(name))
        this.#options.log.warn({ plugin: name }, 'gateway.yaml names a plugin that no folder holds');
    }
  }

  #abortIfAsked(name: string, cause: unknown): void {
    const plugin = this.#plugins.get(name);
    const onFailure = entryOf(this.#desired, name).onFailure ?? plugin?.onFailure ?? 'continue';
    if (onFailure === 'abort') throw new PluginChangeError(name, cause);
  }

  /** True when `name` cannot run because `failed` does not. */
  #needsTransitively(name: string, failed: string): boolean {
    const needs = Object.values(this.#plugins.get(name)?.needs ?? {}) as { id: string }[];
    return needs.some(({ id }) => {
      const provider = this.#graph.providerOf(id);
      return provider === failed || (provider !== undefined && this.#needsTransitively(provider, failed));
    });
  }

  #upstreamOf(name: string): readonly string[] {
    const plugin = this.#plugins.get(name)!;
    const refs = [...Object.values(plugin.needs ?? {}), ...Object.values(plugin.wants ?? {})] as {
      id: string;
    }[];
    return refs.map((ref) => this.#graph.providerOf(ref.id)).filter((provider) => provider !== undefined);
  }

  /** One change after the other; a failed one does not stop the next. */
  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#changes.then(work, work);
    this.#changes = result.catch(() => {});
    return result;
  }
}

function namesVariable(cause: unknown): boolean {
  return cause instanceof ConfigurationError && cause.problems.some(({ file }) => file === undefined);
}
