import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import { ConfigurationError } from '../../foundation/config/configuration-error.ts';
import { parseGatewayFile } from '../../foundation/config/gateway-file.ts';
import type { DegradedPlugin } from '../../foundation/observability/readiness.ts';
import { changedEntries, type Desired, entryOf, planRun, type RunPlan, restOf } from './desired.ts';
import { PluginChangeError } from './errors.ts';
import { Catalogue } from './graph.ts';
import type { Discovered, Unloaded } from './plugin-folders.ts';
import { Slot } from './slot.ts';
import { type Changed, PluginSwap, type SwapParts } from './swap.ts';

/** What the host is made of. */
export interface PluginHostOptions extends SwapParts {
  /** `SVC_PLUGINS`; empty for all. */
  readonly only: readonly string[];
}

/** What shall be: everything that is not said stays as it is. */
export interface Change {
  readonly desired?: Desired;
  /** Plugins to set up anew although nothing about them changed. */
  readonly restart?: readonly string[];
  /** Code that was found: of new plugins, or new generations of those that are there. */
  readonly found?: readonly Discovered[];
  /** A plugin whose folder is gone. */
  readonly gone?: string;
}

/**
 * Brings the running plugins to the desired state, one change at a time. At the first start each plugin's failure is its
 * own. Every later change is whole or not at all: the new instances are set up beside the old ones, exchanged for them
 * in one turn, and the old ones drain; when one of the new cannot be set up, nothing has happened.
 */
export class PluginHost {
  readonly #options: PluginHostOptions;
  readonly #slots = new Map<string, Slot>();
  readonly #exchange: PluginSwap;
  #catalogue: Catalogue;
  #desired: Desired = parseGatewayFile('gateway.yaml', undefined);
  #changes: Promise<unknown> = Promise.resolve();
  #isStopped = false;

  /** @throws PluginGraphError for a cycle, or two providers of one service. */
  constructor(discovered: readonly (Discovered | Unloaded)[], options: PluginHostOptions) {
    this.#options = options;
    this.#exchange = new PluginSwap(options, (name) => this.#slots.get(name)!);
    this.#catalogue = new Catalogue(discovered.flatMap((found) => ('plugin' in found ? [found.plugin] : [])));
    for (const found of discovered) {
      const slot = this.#slotOf(found);
      if ('error' in found) slot.fail(found.error);
      else if ('plugin' in found) slot.hold(found);
    }
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

  /** Plugins that `desired` lets run and whose code is not there yet, or that could not be loaded and are to be tried again. */
  lacking(desired: Desired): readonly string[] {
    const changed = changedEntries(this.#desired, desired);
    return this.slots
      .filter(({ plugin, name, status }) => {
        const isNew = status.state !== 'failed' || changed.includes(name);
        return plugin === undefined && isNew && restOf(name, desired, this.#options.only) === undefined;
      })
      .map(({ name }) => name);
  }

  /** Plugins that should run and do not, with the reason. */
  degraded(): readonly DegradedPlugin[] {
    return this.slots
      .filter(({ status }) => status.state === 'failed' || status.state === 'waiting')
      .map(({ name, status }) => ({ name, state: status.state, reason: status.current.reason }));
  }

  /**
   * The first start. A plugin that fails is reported, and the others serve. Each serves as soon as it is set up; what runs by itself begins
   * when all have been tried, since it may need what a later one contributes.
   *
   * @throws PluginChangeError when one with `onFailure: abort` fails.
   */
  start(desired: Desired): Promise<void> {
    return this.#exclusively(async () => {
      this.#desired = desired;
      this.#noteUnknown(desired);
      const catalogue = this.#catalogue;
      const failed = new Set(this.#failed());
      const started: string[] = [];
      for (const name of failed) this.#abortIfAsked(name, this.#slots.get(name)!.lastError?.message);
      for (;;) {
        const plan = planRun({ ...this.#conditions(desired, catalogue), failed });
        const name = plan.run.find((candidate) => this.#slots.get(candidate)!.current === undefined);
        if (name === undefined) {
          this.#activate(started);
          return this.#noteIdle(plan.idle);
        }
        try {
          await this.#exchange.run({
            arriving: [name],
            leaving: new Set(),
            reason: 'started',
            desired,
            catalogue,
            before: catalogue,
            isHeldBack: true,
          });
          started.push(name);
        } catch (failure) {
          const cause = failure instanceof PluginChangeError ? failure.cause : failure;
          this.#slots.get(name)!.fail(cause);
          this.#options.log.error({ err: cause, plugin: name }, 'a plugin could not be started');
          // A variable that is wrong stops the start, whoever reads it (decisions 0.5).
          if (namesVariable(cause)) throw new PluginChangeError(name, cause);
          this.#abortIfAsked(name, cause);
          for (const dependent of catalogue.graph.dependentsOf(name)) {
            if (catalogue.needs(dependent, name)) this.#abortIfAsked(dependent, cause);
          }
          failed.add(name);
        }
      }
    });
  }

  /**
   * Makes a change. Plugins whose entry or code changed, or that `restart` names, are set up anew, and with them those that
   * need or want them. Resolves when the new state serves.
   *
   * @throws PluginChangeError with everything as it was. A plugin that was new is reported as failed, and disturbs no other.
   */
  change({ desired, restart = [], found = [], gone }: Change): Promise<Changed> {
    return this.#exclusively(async () => {
      const next = desired ?? this.#desired;
      const touched = new Set([...restart, ...changedEntries(this.#desired, next)]);
      for (const { name } of found) touched.add(name);
      try {
        const catalogue = this.#catalogueWith(found, gone);
        const changed = await this.#move(next, catalogue, touched);
        for (const one of found) if ('plugin' in one) this.#slots.get(one.name)!.hold(one);
        if (gone !== undefined) void changed.drained.then(() => this.#forget(gone));
        return changed;
      } catch (failure) {
        if (failure instanceof PluginChangeError) this.#slots.get(failure.plugin)?.fail(failure.cause);
        for (const one of found) this.#keepForLater(one, failure);
        throw failure;
      }
    });
  }

  /** Has the background work of every plugin end, within `drainTimeout` ms; `stop` waits for it. The plugins still serve. */
  drain(drainTimeout: number): void {
    for (const { current } of this.slots) void current?.drain(drainTimeout);
  }

  /**
   * Stops every plugin, dependents first; calls in flight get `drainTimeout` ms. Changes under way are finished first, and
   * none is made afterwards.
   */
  stop(drainTimeout: number): Promise<void> {
    return this.#exclusively(async () => {
      this.#isStopped = true;
      const leaving = new Set(
        this.slots.filter((slot) => slot.current !== undefined).map((slot) => slot.name),
      );
      const [desired, catalogue, before] = [this.#desired, this.#catalogue, this.#catalogue];
      await this.#exchange.run({
        arriving: [],
        leaving,
        reason: 'the gateway stops',
        desired,
        catalogue,
        before,
        drainTimeout,
      });
      await this.#exchange.retired();
    });
  }

  /** @throws PluginChangeError when one with `onFailure: abort` cannot begin. */
  #activate(names: readonly string[]): void {
    this.#exchange.activate(names);
    for (const name of names) {
      const { lastError } = this.#slots.get(name)!;
      if (lastError !== undefined) this.#abortIfAsked(name, lastError.message);
    }
  }

  /** Goes to another desired state and catalogue, whole or not at all. */
  async #move(desired: Desired, catalogue: Catalogue, touched: ReadonlySet<string>): Promise<Changed> {
    const failed = new Set(this.#failed().filter((name) => !touched.has(name)));
    const plan = planRun({ ...this.#conditions(desired, catalogue), failed });
    const running = this.slots.filter(({ current }) => current !== undefined).map(({ name }) => name);
    const arriving: string[] = [];
    const leaving = new Set(running.filter((name) => !catalogue.plugins.has(name)));
    for (const name of catalogue.graph.order) {
      const runs = running.includes(name);
      const upstreamMoves = [...catalogue.upstreamOf(name), ...this.#catalogue.upstreamOf(name)].some(
        (upstream) => arriving.includes(upstream) || leaving.has(upstream),
      );
      const shouldRun = plan.run.includes(name);
      if (shouldRun && (!runs || touched.has(name) || upstreamMoves)) arriving.push(name);
      if (runs && (!shouldRun || arriving.includes(name))) leaving.add(name);
    }
    const before = this.#catalogue;
    const reason = 'started anew';
    const changed = await this.#exchange.run({ arriving, leaving, reason, desired, catalogue, before });
    this.#desired = desired;
    this.#catalogue = catalogue;
    this.#noteIdle(plan.idle);
    return changed;
  }

  /** @throws PluginChangeError when the code could not be loaded, or does not go with that of the others. */
  #catalogueWith(found: readonly Discovered[], gone: string | undefined): Catalogue {
    let catalogue = gone === undefined ? this.#catalogue : this.#catalogue.without(gone);
    for (const one of found) this.#slotOf(one);
    for (const one of found) {
      if ('error' in one) throw new PluginChangeError(one.name, one.error);
      try {
        catalogue = catalogue.with(one.plugin);
      } catch (failure) {
        throw new PluginChangeError(one.name, failure);
      }
    }
    return catalogue;
  }

  /** A plugin that could not be added is known from now on, as a failed one that an operator may try again. */
  #keepForLater(found: Discovered, failure: unknown): void {
    const slot = this.#slots.get(found.name)!;
    if (slot.current !== undefined || !('plugin' in found)) return;
    if (slot.status.state !== 'failed') slot.fail(failure);
    slot.hold(found);
    try {
      this.#catalogue = this.#catalogue.with(found.plugin);
    } catch {
      // It does not go with the others: the slot says so already, and only other code can change that.
      slot.plugin = undefined;
    }
  }

  #forget(name: string): void {
    const slot = this.#slots.get(name);
    if (slot?.current === undefined && !this.#catalogue.plugins.has(name)) this.#slots.delete(name);
  }

  #slotOf(found: Unloaded): Slot {
    const slot = this.#slots.get(found.name) ?? new Slot(found, () => this.#options.clock.now());
    this.#slots.set(found.name, slot);
    return slot;
  }

  #failed(): readonly string[] {
    return this.slots.filter(({ status }) => status.state === 'failed').map(({ name }) => name);
  }

  #conditions(desired: Desired, { graph, plugins }: Catalogue) {
    const unloaded = this.#unloaded().map(({ name }) => name);
    return { graph, plugins, desired, only: this.#options.only, unloaded };
  }

  #noteIdle(idle: RunPlan['idle']): void {
    for (const [name, rest] of idle) this.#slots.get(name)!.settle(rest);
    for (const slot of this.#unloaded()) {
      const rest = restOf(slot.name, this.#desired, this.#options.only);
      if (rest !== undefined) slot.settle(rest);
    }
  }

  /** Slots whose code was never imported, since nothing of it was to run. */
  #unloaded(): readonly Slot[] {
    return this.slots.filter(({ plugin, status }) => plugin === undefined && status.state !== 'failed');
  }

  #noteUnknown(desired: Desired): void {
    for (const name of desired.plugins.keys()) {
      if (!this.#slots.has(name))
        this.#options.log.warn({ plugin: name }, 'gateway.yaml names a plugin that no folder holds');
    }
  }

  #abortIfAsked(name: string, cause: unknown): void {
    const plugin = this.#catalogue.plugins.get(name);
    const onFailure = entryOf(this.#desired, name).onFailure ?? plugin?.onFailure ?? 'continue';
    if (onFailure === 'abort') throw new PluginChangeError(name, cause);
  }

  /** One change after the other; a failed one does not stop the next. */
  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const turn = () => {
      if (this.#isStopped) throw KernelErrors.draining();
      return work();
    };
    const result = this.#changes.then(turn, turn);
    this.#changes = result.catch(() => {});
    return result;
  }
}

function namesVariable(cause: unknown): boolean {
  return cause instanceof ConfigurationError && cause.problems.some(({ file }) => file === undefined);
}
