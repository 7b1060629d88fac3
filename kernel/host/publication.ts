import type { AuthenticationChain } from '../auth/chain.ts';
import type { CompiledRoute } from '../http/compiled-route.ts';
import type { Listeners } from '../http/listeners.ts';
import type { Probe } from './effects.ts';
import type { PluginInstance } from './plugin-instance.ts';

/** Where a plugin's routes listen. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** The variable that sets it, for the message when the port is taken. */
  readonly variable: string;
}

/** A running instance with its place. */
export interface Published {
  readonly instance: PluginInstance;
  readonly address: ListenAddress;
  /** Takes its credentials out of the chain. */
  readonly withdraw: readonly (() => void)[];
}

/** What the parts outside the host see of the plugins: one consistent set at any moment, exchanged in one turn. */
export class Publication {
  readonly #listeners: Listeners;
  readonly #authentication: AuthenticationChain;
  #live: ReadonlyMap<string, Published> = new Map();
  readonly #kernelRoutes = new Map<string, readonly CompiledRoute[]>();

  constructor(listeners: Listeners, authentication: AuthenticationChain) {
    this.#listeners = listeners;
    this.#authentication = authentication;
  }

  /** Routes of the kernel itself, which are there whatever plugins come and go. */
  async addKernelRoutes(address: ListenAddress, routes: readonly CompiledRoute[]): Promise<void> {
    this.#kernelRoutes.set(this.#listeners.key(address), routes);
    const publish = await this.prepare(new Set(), new Map());
    publish();
  }

  /** The value behind a service ref, of whichever live plugin provides it. */
  service(id: string): unknown {
    for (const { instance } of this.#live.values()) {
      if (instance.effects.provided.has(id)) return instance.effects.provided.get(id);
    }
    return undefined;
  }

  contributions(pointId: string): readonly unknown[] {
    return [...this.#live.values()]
      .flatMap(({ instance }) => instance.effects.contributions)
      .filter((contribution) => contribution.pointId === pointId)
      .map((contribution) => contribution.value);
  }

  probes(): readonly Probe[] {
    return [...this.#live.values()].flatMap(({ instance }) => instance.effects.probes);
  }

  /**
   * Prepares an exchange: opens the addresses that it needs and builds the route tables.
   *
   * @throws RouteCollision, or the listener's error when a port is taken. Nothing has changed then.
   */
  async prepare(leaving: ReadonlySet<string>, arriving: ReadonlyMap<string, Arrival>): Promise<() => void> {
    const next = new Map([...this.#live].filter(([name]) => !leaving.has(name)));
    for (const { address, instance } of arriving.values()) {
      await this.#listeners.open(address, instance.plugin.name);
    }
    const routes = new Map(this.#kernelRoutes);
    for (const { instance, address } of [...next.values(), ...arriving.values()]) {
      const key = this.#listeners.key(address);
      routes.set(key, [...(routes.get(key) ?? []), ...instance.effects.routes]);
    }
    const swap = this.#listeners.prepare(routes);
    return () => {
      for (const name of leaving) for (const withdraw of this.#live.get(name)?.withdraw ?? []) withdraw();
      for (const [name, { instance, address }] of arriving) {
        const withdraw = instance.effects.authenticators.map((one) => this.#authentication.add(one));
        next.set(name, { instance, address, withdraw });
      }
      this.#live = next;
      swap();
      for (const { instance } of arriving.values()) instance.activate();
    };
  }

  /** Gives up what was prepared and not published: closes the addresses that were opened for it. */
  abandon(): void {
    const live = [...this.#live.values()].map(({ address }) => this.#listeners.key(address));
    this.#listeners.closeOthers(new Set([...this.#kernelRoutes.keys(), ...live]));
  }
}

/** An instance that is about to be published. */
export interface Arrival {
  readonly instance: PluginInstance;
  readonly address: ListenAddress;
}
