import { setTimeout as pause } from 'node:timers/promises';
import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import { changedEntries, type Desired, entryOf, withEntries } from '../../foundation/config/desired.ts';
import { parseGatewayFile } from '../../foundation/config/gateway-file.ts';
import { PluginChangeError } from './errors.ts';
import { Catalogue } from './graph.ts';
import { Moves } from './moves.ts';
import { type Exchange, exchangeOf, planExchange, planRun, type RunPlan } from './plan.ts';
import { endsStart } from './plugin-configuration.ts';
import type { Discovered, Unloaded } from './plugin-folders.ts';
import { Slots, type SlotsOptions } from './slots.ts';
import { type Around, type Changed, PluginSwap, type SwapParts } from './swap.ts';

/** Milliseconds that a start waits for set-ups of plugins that are not bundled, and a stop for those under way. */
const START_PATIENCE = 5_000;
const STOP_PATIENCE = 2_000;

/** What the host is made of. */
export interface PluginHostOptions extends SwapParts, SlotsOptions {
  /** Plugins that ended the process again and again, with the last time: not started until an operator enables them. */
  readonly leftOut?: ReadonlyMap<string, Date>;
}

/** The desired state: members that are absent stay as they are. */
export interface Change {
  /** Where it differs from what is desired when the change is asked for, it is made. */
  readonly desired?: Desired;
  /** What is made of that which is desired when the change takes effect: other changes may come before. */
  readonly amend?: (desired: Desired) => Desired;
  /** Plugins to set up again although nothing about them changed. */
  readonly restart?: readonly string[];
  /** Set up unless they run. */
  readonly start?: readonly string[];
  /** Code that was found: of new plugins, or new generations of those that are there. */
  readonly found?: readonly Discovered[];
  /** Plugins whose code is gone. */
  readonly gone?: readonly string[];
}

/** What a change comes to at this moment. */
interface Planned extends Exchange {
  readonly desired: Desired;
  readonly catalogue: Catalogue;
}

/**
 * Brings the running plugins to the desired state. At the first start each plugin's failure is its own, and set-ups run
 * side by side. Every later change takes effect as a whole or not at all: the new instances are set up next to the old
 * ones, exchanged for them in one turn, and the old ones drain; when one of the new cannot be set up, nothing has
 * happened. Changes of different plugins do not wait for each other's set-ups.
 */
export class PluginHost {
  readonly #options: PluginHostOptions;
  readonly slots: Slots;
  readonly #exchange: PluginSwap;
  readonly #moves = new Moves();
  /** Those of the first start, to the end of what follows from them. */
  readonly #starting = new Map<string, Promise<void>>();
  #catalogue = new Catalogue([]);
  #desired: Desired = parseGatewayFile('gateway.yaml', undefined);
  /** Plugins that are published and whose background work has not begun. */
  #heldBack: string[] | undefined = [];
  #isStopped = false;

  /** @param discovered of several that claim the same the first has it: a later one, or a circle's last, fails. */
  constructor(discovered: readonly (Discovered | Unloaded)[], options: PluginHostOptions) {
    this.#options = options;
    this.slots = new Slots(options);
    this.#exchange = new PluginSwap(options, (name) => this.slots.of(name));
    for (const found of discovered) {
      const slot = this.slots.add(found);
      const leftOut = options.leftOut?.get(found.name);
      if ('error' in found) slot.fail(found.error);
      else if (leftOut !== undefined) slot.leaveOut(leftOut);
      if (!('plugin' in found)) continue;
      try {
        this.#catalogue = this.#catalogue.with(found.plugin);
        slot.hold(found);
      } catch (failure) {
        slot.fail(failure);
      }
    }
  }

  get desired(): Desired {
    return this.#desired;
  }

  /**
   * The first start. A plugin that fails is reported, and the others serve. Each serves as soon as it is set up;
   * background work begins when all have been tried, since it may need what a later one contributes. Set-ups of others
   * than bundled plugins that take long go on afterwards.
   *
   * @throws PluginChangeError when one with `onFailure: abort` fails.
   */
  async start(desired: Desired): Promise<void> {
    this.#desired = desired;
    for (const name of this.slots.failed()) this.#abortIfAsked(name, this.slots.of(name).lastError?.message);
    const { run } = this.#planned(desired, this.#catalogue);
    this.#options.services.database.announce(run.map((name) => this.#catalogue.plugins.get(name)!));
    await this.#startAll((name) => this.slots.isBundled(name));
    const rest = this.#startAll(() => true);
    await Promise.race([rest, pause(START_PATIENCE, undefined, { ref: false })]);
    rest.catch((err) =>
      this.#options.log.error({ err }, 'a plugin that the start did not wait for has failed'),
    );
    this.slots.tellIdle(this.#options.log);
    this.#activate();
  }

  /**
   * Starts the plugins for which `may` is true, side by side, each when those that it needs or wants are there.
   *
   * @throws PluginChangeError when one with `onFailure: abort` fails
   */
  async #startAll(may: (name: string) => boolean): Promise<void> {
    for (;;) {
      const { run, idle } = this.#planned(this.#desired, this.#catalogue);
      const lacking = run.filter((name) => this.slots.of(name).current === undefined);
      for (const name of lacking) {
        const isReady = !this.#catalogue.graph.upstreamOf(name).some((one) => lacking.includes(one));
        if (!may(name) || !isReady || this.#moves.has(name) || this.#isStopped) continue;
        const started = this.#startOne(name).finally(() => this.#starting.delete(name));
        started.catch(() => {});
        this.#starting.set(name, started);
      }
      const under = [...this.#starting].filter(([name]) => may(name));
      if (under.length > 0) await Promise.race(under.map(([, started]) => started));
      else return this.slots.settle(idle, this.#desired);
    }
  }

  /** @throws PluginChangeError where its failure ends the start */
  async #startOne(name: string): Promise<void> {
    const desired = this.#desired;
    const catalogue = this.#catalogue;
    try {
      await this.#make({ ...exchangeOf([name], new Set(), catalogue), desired, catalogue }, 'started');
    } catch (failure) {
      const cause = failure instanceof PluginChangeError ? failure.cause : failure;
      if (this.#isStopped) return;
      this.slots.of(name).fail(cause);
      this.#options.log.error({ err: cause, plugin: name }, 'a plugin could not be started');
      if (endsStart(catalogue.plugins.get(name)!, cause)) throw new PluginChangeError(name, cause);
      this.#abortIfAsked(name, cause);
      for (const dependent of catalogue.graph.dependentsOf(name)) {
        if (catalogue.needs(dependent, name)) this.#abortIfAsked(dependent, cause);
      }
    }
  }

  /**
   * Makes a change. Plugins whose entry or code changed, or that `restart` names, are set up again, and with them those
   * that need or want them. Resolves when the new state serves.
   *
   * @param around the turn in which the new state begins to serve
   * @throws PluginChangeError with everything as it was. A new plugin is reported as failed, and disturbs no other.
   */
  async change(
    { desired, amend = (same) => same, found = [], gone = [], restart = [], start = [] }: Change,
    around?: Around,
  ): Promise<Changed> {
    const entries = desired === undefined ? [] : changedEntries(this.#desired, desired);
    const wanted = () => amend(withEntries(this.#desired, desired ?? this.#desired, entries));
    for (;;) {
      if (this.#isStopped) throw KernelErrors.draining();
      const next = wanted();
      const changed = entries.filter((name) => !this.#moves.leadTo(next, name));
      const stopped = start.filter((name) => this.slots.find(name)?.current === undefined);
      const touched = new Set([...restart, ...stopped, ...changed, ...found.map(({ name }) => name)]);
      try {
        const planned = this.#plan(next, this.#catalogueWith(found, gone), touched);
        // Also of those that need no move: what is on its way may bring them elsewhere.
        const names = planned.names.union(touched).union(new Set(start));
        const other = this.#moves.inTheWayOf({ ...planned, names });
        if (other !== undefined) await other;
        else return await this.#apply(planned, wanted, { found, gone }, around);
      } catch (failure) {
        if (failure instanceof PluginChangeError) this.slots.find(failure.plugin)?.fail(failure.cause);
        for (const one of found) this.#keepForLater(one, failure);
        throw failure;
      }
    }
  }

  /** Makes the planned change, whole or not at all. `wanted` is asked again in that turn: others may have changed. */
  async #apply(
    planned: Planned,
    wanted: () => Desired,
    { found, gone }: { readonly found: readonly Discovered[]; readonly gone: readonly string[] },
    around: Around | undefined,
  ): Promise<Changed> {
    let catalogue = planned.catalogue;
    const changed = await this.#make(planned, 'started anew', {
      around,
      enter: () => {
        catalogue = this.#catalogueWith(found, gone);
      },
      entered: () => {
        this.#catalogue = catalogue;
        this.#desired = wanted();
        for (const one of found) if ('plugin' in one) this.slots.of(one.name).hold(one);
      },
    });
    const { idle } = this.#planned(this.#desired, this.#catalogue);
    this.slots.settle(idle, this.#desired);
    for (const name of gone) void changed.drained.then(() => this.#forget(name));
    this.#catchUp();
    return changed;
  }

  /** Starts what could not be a part of the change that was made, since it was on its way at that moment. */
  #catchUp(): void {
    const { arriving, leaving } = this.#plan(this.#desired, this.#catalogue, new Set());
    if (arriving.length + leaving.size === 0 || this.#isStopped) return;
    this.change({}).catch((err) =>
      this.#options.log.error({ err }, 'plugins could not be brought to what gateway.yaml says'),
    );
  }

  /** Exchanges instances, while no other move touches them. */
  #make(
    { arriving, leaving, ...move }: Planned,
    reason: string,
    turn: { around?: Around | undefined; enter?: () => void; entered?: () => void } = {},
  ): Promise<Changed> {
    const { desired, catalogue } = move;
    return this.#moves.make(move, () =>
      this.#exchange.run({
        arriving,
        leaving,
        reason,
        desired,
        catalogue,
        ...(turn.around && { around: turn.around }),
        enter: () => {
          if (this.#isStopped) throw KernelErrors.draining();
          turn.enter?.();
          return this.#catalogue;
        },
        entered: () => {
          turn.entered?.();
          this.#heldBack?.push(...arriving);
        },
        isHeldBack: () => this.#heldBack !== undefined,
      }),
    );
  }

  /** Has the background work of every plugin end, within `drainTimeout` ms; `stop` waits for it. They still serve. */
  drain(drainTimeout: number): void {
    for (const { current } of this.slots.all) void current?.drain(drainTimeout);
  }

  /**
   * Stops every plugin, dependents first; calls in flight get `drainTimeout` ms. No change is made any more; set-ups
   * that are under way are waited for, 2 s, and come to nothing.
   */
  async stop(drainTimeout: number): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    const ends = Promise.all(this.#moves.ends());
    await Promise.race([ends, pause(STOP_PATIENCE, undefined, { ref: false })]);
    const running = this.slots.all.filter(({ current }) => current !== undefined);
    const catalogue = this.#catalogue;
    await this.#exchange.run({
      arriving: [],
      leaving: new Set(running.map(({ name }) => name)),
      reason: 'the gateway stops',
      desired: this.#desired,
      catalogue,
      enter: () => catalogue,
      drainTimeout,
    });
    await this.#exchange.retired();
  }

  /** @throws PluginChangeError when one with `onFailure: abort` cannot begin. */
  #activate(): void {
    const names = this.#heldBack ?? [];
    this.#heldBack = undefined;
    this.#exchange.activate(names);
    for (const name of names) {
      const { lastError } = this.slots.of(name);
      if (lastError !== undefined) this.#abortIfAsked(name, lastError.message);
    }
  }

  /** What has to come and go for another desired state and catalogue, without what is on its way and not touched. */
  #plan(desired: Desired, catalogue: Catalogue, touched: ReadonlySet<string>): Planned {
    const isUnderWay = (name: string) => !touched.has(name) && this.#moves.has(name);
    const { true: running = [], false: rest = [] } = Object.groupBy(
      this.slots.all.map(({ name }) => name),
      (name) => `${this.slots.of(name).current !== undefined}`,
    );
    // What needs one that is on its way waits for it, as if it had failed until then.
    const failed = [...this.slots.failed().filter((name) => !touched.has(name)), ...rest.filter(isUnderWay)];
    const { run } = this.#planned(desired, catalogue, failed);
    const conditions = { before: this.#catalogue, after: catalogue, run, running, touched, isUnderWay };
    return { ...planExchange(conditions), desired, catalogue };
  }

  /** @throws PluginChangeError when the code could not be loaded, or does not go with that of the others. */
  #catalogueWith(found: readonly Discovered[], gone: readonly string[]): Catalogue {
    let catalogue = gone.reduce((without, name) => without.without(name), this.#catalogue);
    for (const one of found) this.slots.add(one);
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
    const slot = this.slots.of(found.name);
    if (slot.current !== undefined || !('plugin' in found)) return;
    if (failure instanceof PluginChangeError && slot.status.state !== 'failed') slot.fail(failure);
    slot.hold(found);
    try {
      this.#catalogue = this.#catalogue.with(found.plugin);
    } catch {
      // It does not go with the others: the slot says so already, and only other code can change that.
      slot.plugin = undefined;
    }
  }

  #forget(name: string): void {
    const isGone = this.slots.find(name)?.current === undefined && !this.#catalogue.plugins.has(name);
    if (isGone) this.slots.delete(name);
  }

  /** Which plugins are to run. */
  #planned(desired: Desired, { graph, plugins }: Catalogue, failed = this.slots.failed()): RunPlan {
    const unloaded = this.slots.unloaded().map(({ name }) => name);
    return planRun({ graph, plugins, desired, only: this.#options.only, failed: new Set(failed), unloaded });
  }

  #abortIfAsked(name: string, cause: unknown): void {
    const plugin = this.#catalogue.plugins.get(name);
    const onFailure = entryOf(this.#desired, name).onFailure ?? plugin?.onFailure ?? 'continue';
    if (onFailure === 'abort') throw new PluginChangeError(name, cause);
  }
}
