import { originOf } from '../../foundation/code/error-place.ts';
import { changedEntries, type Desired, restOf } from '../../foundation/config/desired.ts';
import type { DegradedPlugin } from '../../foundation/observability/readiness.ts';
import type { RunPlan } from './plan.ts';
import type { Unloaded } from './plugin-folders.ts';
import { Slot } from './slot.ts';
import type { SwapParts } from './swap.ts';

/** What says of plugins whether they run. */
export interface SlotsOptions extends Pick<SwapParts, 'clock' | 'logging'> {
  /** `SVC_PLUGINS`; empty for all. */
  readonly only: readonly string[];
  /** Whether a plugin is bundled: set up first, has first claim, and a start waits for it. Default: all. */
  readonly isBundled?: (folder: string) => boolean;
}

/** The plugins of the deployment, and what each of them is in. */
export class Slots {
  readonly #options: SlotsOptions;
  readonly #slots = new Map<string, Slot>();

  constructor(options: SlotsOptions) {
    this.#options = options;
  }

  get all(): readonly Slot[] {
    return [...this.#slots.values()];
  }

  find(name: string): Slot | undefined {
    return this.#slots.get(name);
  }

  /** That of a plugin which is known. */
  of(name: string): Slot {
    return this.#slots.get(name)!;
  }

  /** That of a plugin which was found, from now on if it is new. */
  add(found: Unloaded): Slot {
    const slot = this.#slots.get(found.name) ?? new Slot(found, this.#options);
    this.#slots.set(found.name, slot);
    return slot;
  }

  delete(name: string): void {
    this.#slots.delete(name);
  }

  isBundled(name: string): boolean {
    return this.#options.isBundled?.(this.find(name)?.folder ?? '') ?? true;
  }

  failed(): readonly string[] {
    return this.all.filter(({ status }) => status.state === 'failed').map(({ name }) => name);
  }

  /** Those whose code was never imported, since nothing of it was to run. */
  unloaded(): readonly Slot[] {
    return this.all.filter(({ plugin, status }) => plugin === undefined && status.state !== 'failed');
  }

  /** Plugins that should run and do not, with the reason. */
  degraded(): readonly DegradedPlugin[] {
    return this.all
      .filter(({ status }) => status.state === 'failed' || status.state === 'waiting')
      .map(({ name, status }) => ({ name, state: status.state, reason: status.current.reason }));
  }

  /** Logs each plugin that waits, or whose code could not be loaded: nothing else does. */
  tellIdle(log: SwapParts['log']): void {
    for (const { name: plugin, state, reason } of this.degraded())
      if (state === 'waiting' || this.of(plugin).plugin === undefined)
        log.error({ plugin, state, reason }, 'a plugin does not run');
  }

  /** The plugins that have work in hand, or had since this was asked last. */
  busy(): readonly string[] {
    return this.all.filter(({ current }) => current?.wasBusy()).map(({ name }) => name);
  }

  /** The plugin, not one of the bundled, in whose code an error has its origin. */
  culpritOf(error: unknown): string | undefined {
    const others = this.all.filter(({ name }) => !this.isBundled(name));
    return originOf(error, others)?.name;
  }

  /** Whether `desired` and `SVC_PLUGINS` let a plugin run. */
  mayRun(name: string, desired: Desired): boolean {
    return restOf(name, desired, this.#options.only) === undefined;
  }

  /** Plugins that `next` lets run and whose code is not there yet, or failed to load and is to be tried again. */
  lacking(before: Desired, next: Desired): readonly string[] {
    const changed = changedEntries(before, next);
    return this.all
      .filter(({ plugin, name, status }) => {
        const isNew = status.state !== 'failed' || changed.includes(name);
        return plugin === undefined && isNew && this.mayRun(name, next);
      })
      .map(({ name }) => name);
  }

  /** Notes of each plugin that is not to run why it is not. */
  settle(idle: RunPlan['idle'], desired: Desired): void {
    for (const [name, rest] of idle) this.of(name).settle(rest);
    for (const slot of this.all.filter(({ plugin }) => plugin === undefined)) {
      // One that could not be loaded says so, unless it is switched off.
      const rest = restOf(slot.name, desired, slot.status.state === 'failed' ? [] : this.#options.only);
      if (rest !== undefined) slot.settle(rest);
    }
  }
}
