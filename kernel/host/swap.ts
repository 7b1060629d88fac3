import type { Clock } from '../../foundation/base/clock.ts';
import { Mutex } from '../../foundation/base/semaphore.ts';
import { fitProblem } from '../../foundation/code/definition-form.ts';
import { type Desired, entryOf } from '../../foundation/config/desired.ts';
import type { Environment } from '../../foundation/config/read-config.ts';
import type { Address } from '../../foundation/http/address.ts';
import type { Logger, Logging } from '../../foundation/observability/logger.ts';
import type { PluginMetrics } from '../../foundation/observability/plugin-metrics.ts';
import { GATEWAY_POINTS } from '../api/points.ts';
import { KERNEL_VERSION } from '../version.ts';
import { PluginChangeError } from './errors.ts';
import type { Catalogue } from './graph.ts';
import { readSettings, registrationOf } from './plugin-configuration.ts';
import { PluginInstance } from './plugin-instance.ts';
import type { ScopeParts } from './plugin-scope.ts';
import type { Arrival, Publication } from './publication.ts';
import type { Slot } from './slot.ts';

/** Milliseconds that a plugin's `setup` may take. */
const SETUP_TIMEOUT = 30_000;

/** What a swap is made of. */
export interface SwapParts
  extends Pick<ScopeParts, 'services' | 'events' | 'hints' | 'jobs' | 'durableEvents' | 'resources'> {
  readonly publication: Publication;
  /** Read by plugins for their own variables. */
  readonly env: Environment;
  /** The gateway's own address, for plugins that name none; undefined: these are served nowhere. */
  readonly address: Address | undefined;
  /** Milliseconds; `gateway.yaml` may say otherwise for a plugin. */
  readonly drainTimeout: number;
  readonly setupTimeout?: number;
  readonly log: Logger;
  readonly logging: Pick<Logging, 'hide' | 'withoutSecrets'>;
  readonly clock: Clock;
  metricsFor(plugin: string): PluginMetrics & { dispose(): void };
}

/** Which instances come and go in one turn, and in which world. */
export interface Swap {
  readonly arriving: readonly string[];
  readonly leaving: ReadonlySet<string>;
  readonly reason: string;
  readonly desired: Desired;
  /** In which the arriving run. */
  readonly catalogue: Catalogue;
  /**
   * Called when all that arrive are set up and nothing else changes any more; where it throws, they do not become
   * visible. Gives the catalogue in which the leaving ran.
   */
  readonly enter: () => Catalogue;
  /** Called when they are visible, in the same turn. */
  readonly entered?: () => void;
  /** Around that turn, for what has to happen together with it. Default: nothing has. */
  readonly around?: Around;
  /** Milliseconds; default: what `desired` says of each. */
  readonly drainTimeout?: number;
  /** Called in that turn. True: background work and events wait until `activate` is called. Default: it begins now. */
  readonly isHeldBack?: () => boolean;
}

/**
 * Does something together with a change, which `make` makes. `last` is called when nothing but it can keep the change
 * from being made any more; where it rejects, the change is not made, and `make` rejects with the same.
 */
export type Around = (make: (last?: () => Promise<unknown>) => Promise<Changed>) => Promise<Changed>;

/** A change that serves already. */
export interface Changed {
  /** Resolves when the instances that were exchanged or stopped are gone. */
  readonly drained: Promise<void>;
}

/** An instance that is set up, and how long that took. */
type Staged = Arrival & { readonly milliseconds: number };

/** Instances that were taken out and are not gone. */
interface Retirement {
  /** The plugins that they are of. */
  readonly names: ReadonlySet<string>;
  /** The instances that they may use, in the same exchange and outside of it. */
  readonly used: ReadonlySet<PluginInstance | undefined>;
  /** The ends of their work in the background. */
  readonly drains: readonly Promise<readonly string[]>[];
  readonly gone: Promise<void>;
}

/** Exchanges running instances of plugins for others, all in one turn or not at all. */
export class PluginSwap {
  readonly #parts: SwapParts;
  readonly #slotOf: (name: string) => Slot;
  readonly #retiring = new Set<Retirement>();
  /** What becomes visible does so one after the other. */
  readonly #turn = new Mutex();

  constructor(parts: SwapParts, slotOf: (name: string) => Slot) {
    this.#parts = parts;
    this.#slotOf = slotOf;
  }

  /** Resolves when every instance that was taken out is gone. */
  async retired(): Promise<void> {
    await Promise.all([...this.#retiring].map(({ gone }) => gone));
  }

  /**
   * Begins the background work of plugins that were published: listeners, workers, periodic tasks. They serve already,
   * so a plugin whose work cannot begin is logged and its failure noted in the slot; it hinders no other.
   */
  activate(names: Iterable<string>, begin = (instance: PluginInstance) => instance.activate()): void {
    for (const name of names) {
      const slot = this.#slotOf(name);
      try {
        if (slot.current !== undefined) begin(slot.current);
      } catch (err) {
        slot.fail(err);
        this.#parts.log.error(
          { err, plugin: name },
          'a plugin serves, but cannot begin what it does by itself',
        );
      }
    }
  }

  /**
   * Sets up `arriving` in order, publishes them in place of `leaving` in one turn, and lets those drain. Several may be
   * set up side by side; they become visible one after the other.
   *
   * @throws PluginChangeError naming the plugin that stood in the way; nothing has happened then
   */
  async run(swap: Swap): Promise<Changed> {
    const { arriving, leaving, around = (make) => make() } = swap;
    const staged = new Map<string, Staged>();
    const before = arriving.map((name) => {
      const { status } = this.#slotOf(name);
      return { name, status, ...status.current };
    });
    let current: string | undefined;
    try {
      for (const name of arriving) {
        current = name;
        const setUp = this.#setUp(name, staged, leaving, swap);
        staged.set(name, await setUp.catch((failure) => refuse(name, failure)));
      }
      current = undefined;
      return await around((last) => this.#turn.run(() => this.#publish(swap, staged, last)));
    } catch (failure) {
      for (const { instance } of [...staged.values()].toReversed()) await instance.discard();
      const culprit = failure instanceof PluginChangeError ? failure.plugin : current;
      for (const { name, status, state, reason } of before) {
        if (status.state !== 'starting' || name === culprit) continue;
        if (culprit === undefined) status.set(state, reason);
        else status.set('stopped', `given up: ${culprit} failed`);
      }
      throw failure;
    }
  }

  /** Makes what is set up visible. */
  async #publish(
    swap: Swap,
    staged: ReadonlyMap<string, Staged>,
    last: (() => Promise<unknown>) | undefined,
  ): Promise<Changed> {
    const { leaving, reason, isHeldBack } = swap;
    const { publication, log } = this.#parts;
    const before = swap.enter();
    let current: string | undefined = '';
    try {
      // Of the first, of the first two …: a collision is reported for the plugin that causes it.
      const checked = new Map<string, Staged>();
      for (const [name, one] of staged) {
        current = name;
        await publication.check(leaving, checked.set(name, one));
      }
      const { publish, discard } = await publication.prepare(leaving, staged);
      await last?.().catch((failure) => {
        discard();
        current = undefined;
        throw failure;
      });
      const retire = this.#retire(swap, before);
      publish();
      for (const [name, { instance, milliseconds }] of staged) {
        this.#slotOf(name).started(instance, milliseconds, reason);
        log.info({ plugin: name, ms: Math.round(milliseconds) }, `plugin ${reason}`);
      }
      swap.entered?.();
      const drained = retire();
      this.activate(staged.keys(), isHeldBack?.() ? (instance) => instance.listen() : undefined);
      return { drained };
    } catch (failure) {
      await publication.abandon();
      if (current === undefined) throw failure;
      return refuse(current, failure);
    }
  }

  async #setUp(
    name: string,
    staged: ReadonlyMap<string, Arrival>,
    leaving: ReadonlySet<string>,
    { desired, catalogue }: Pick<Swap, 'desired' | 'catalogue'>,
  ): Promise<Staged> {
    const { services, log, logging, publication, clock, metricsFor } = this.#parts;
    const slot = this.#slotOf(name);
    const plugin = catalogue.plugins.get(name)!;
    const began = clock.monotonic();
    if (slot.current === undefined) slot.status.set('starting', 'its set-up runs');
    const unfit = fitProblem(plugin, KERNEL_VERSION);
    if (unfit !== undefined) throw new Error(unfit);
    const { config, secrets, address } = readSettings(plugin, desired, this.#parts.env);
    for (const secret of secrets) logging.hide(secret);
    const registration = registrationOf(plugin, desired, catalogue.plugins);
    const { entities, migrations, formerly = [] } = registration;
    const hasTables = [entities, migrations, formerly].some(({ length }) => length > 0);
    const tables = hasTables ? await services.database.register(registration) : undefined;
    const lookUp = (id: string) => {
      const provider = catalogue.graph.providers.get(id);
      if (provider === undefined) return undefined;
      const arriving = staged.get(provider)?.instance.effects.provided.get(id);
      return arriving ?? (leaving.has(provider) ? undefined : publication.service(id));
    };
    const refs = Object.entries({ ...plugin.needs, ...plugin.wants }) as [string, { id: string }][];
    const instance = await PluginInstance.setUp({
      ...this.#parts,
      plugin,
      config,
      log: log.child({ plugin: name }),
      upstream: Object.fromEntries(refs.map(([key, ref]) => [key, lookUp(ref.id)])),
      metric: metricsFor(name),
      releaseTables: () => tables?.release(),
      setupTimeout: this.#parts.setupTimeout ?? SETUP_TIMEOUT,
      folder: slot.folder,
      contributions: (pointId) => publication.contributions(pointId),
      points: [...GATEWAY_POINTS, ...catalogue.plugins.values().flatMap(({ points = [] }) => points)],
    });
    return { instance, address: address ?? this.#parts.address, milliseconds: clock.monotonic() - began };
  }

  /**
   * Takes the instances that leave out of their slots at once; the returned function drains all of them side by side,
   * and then ends them, dependents first. None is ended before all have drained, and earlier generations and those that
   * use it are gone: what one has in hand may need any other, as a step of a workflow the plugin of its node type.
   */
  #retire(swap: Swap, { graph }: Catalogue): () => Promise<void> {
    const { arriving, leaving, desired } = swap;
    const order = graph.order.filter((name) => leaving.has(name)).toReversed();
    const instances = order.map((name) => ({
      slot: this.#slotOf(name),
      instance: this.#slotOf(name).current!,
      time: swap.drainTimeout ?? entryOf(desired, name).drainTimeout ?? this.#parts.drainTimeout,
    }));
    const upstream = graph.order.filter((name) => !graph.dependentsOf(name).isDisjointFrom(leaving));
    const used = new Set(upstream.map((name) => this.#slotOf(name).current));
    return () => {
      for (const { slot } of instances) {
        if (arriving.includes(slot.name)) continue;
        slot.current = undefined;
        slot.status.set('draining', 'its calls in flight end');
      }
      const users = [...this.#retiring].filter(
        ({ names, used }) =>
          !names.isDisjointFrom(leaving) || instances.some((own) => used.has(own.instance)),
      );
      const ending = instances.map(({ instance, time }) => instance.windDown(time));
      const drains = users.flatMap((user) => user.drains);
      for (const { instance, time } of instances) if (instance.hasDrains) drains.push(instance.drain(time));
      const gone = (async () => {
        // Where nothing goes on in the background, what was contributed goes in this very turn.
        if (drains.length > 0) await Promise.all(drains);
        this.#parts.publication.forget(instances.map(({ instance }) => instance));
        await Promise.all([...ending, ...users.map((user) => user.gone)]);
        for (const { slot, instance, time } of instances) {
          slot.leaks = await instance.retire(time);
          for (const leak of slot.leaks)
            this.#parts.log.error({ plugin: slot.name, leak }, 'a plugin left something');
          const later = [...this.#retiring].some((one) => one !== retirement && one.names.has(slot.name));
          if (later || slot.status.state !== 'draining') continue;
          slot.status.set(slot.rest.state, slot.rest.reason);
          this.#parts.log.info({ plugin: slot.name, reason: slot.rest.reason }, `plugin ${slot.rest.state}`);
        }
      })();
      const retirement: Retirement = { names: leaving, used, drains, gone };
      this.#retiring.add(retirement);
      void gone.finally(() => this.#retiring.delete(retirement));
      return gone;
    };
  }
}

function refuse(plugin: string, failure: unknown): never {
  throw failure instanceof PluginChangeError ? failure : new PluginChangeError(plugin, failure);
}
