import type { Address } from '../../foundation/http/address.ts';
import { type Claim, requireUndisputed } from '../../foundation/messages/claims.ts';
import type { Probe } from '../../foundation/observability/readiness.ts';
import { byKind, type ResourceHost } from '../../foundation/resources/resources.ts';
import type { AuthenticationChain } from '../auth/chain.ts';
import { inOrder, type PluginStage } from '../chain/stages.ts';
import type { Grpc } from '../grpc/grpc.ts';
import type { CompiledRoute } from '../http/compiled-route.ts';
import type { Listeners } from '../http/listeners.ts';
import { listenRules } from './plugin-configuration.ts';
import type { PluginInstance } from './plugin-instance.ts';

/** A running instance with its place. */
export interface Published {
  readonly instance: PluginInstance;
  /** Undefined: nowhere. */
  readonly address: Address | undefined;
  /** Takes its credentials out of the chain. */
  readonly withdraw: readonly (() => void)[];
}

/** An instance that is about to be published. */
export type Arrival = Pick<Published, 'instance' | 'address'>;

/** Where plugins become visible. */
export interface PublicationParts {
  readonly listeners: Pick<Listeners, 'key' | 'open' | 'prepare' | 'closeOthers'>;
  readonly grpc: Pick<Grpc, 'open' | 'prepare' | 'abandon'>;
  readonly resources: Pick<ResourceHost, 'prepare'>;
  readonly authentication: AuthenticationChain;
  /** Whether routes that listen on an address of their own are served on the gateway's as well. */
  readonly onePort: boolean;
}

export type Publication = ReturnType<typeof createPublication>;

/** What the parts outside the host see of the plugins: one consistent set at any moment, exchanged in one turn. */
export function createPublication(parts: PublicationParts) {
  const { listeners, grpc, resources, authentication, onePort } = parts;
  let live: ReadonlyMap<string, Published> = new Map();
  let stages: readonly PluginStage[] = [];
  /** Those that have left, while background work of what left with them goes on. By name, the latest of each. */
  const departed = new Map<string, PluginInstance>();
  const own = authentication
    .kinds()
    .map(({ name: id }): Claim => ({ plugin: 'the gateway', kind: 'credential', id }));
  /** By point, until plugins come or go: each chat reads them. */
  const contributed = new Map<string, readonly unknown[]>();
  const kernelRoutes = new Map<string, readonly CompiledRoute[]>();

  /**
   * Opens the addresses that a swap needs and builds its tables of routes and gRPC methods; the returned function swaps
   * them in.
   *
   * @throws RouteCollision, ServiceCollision, what `byKind` and `requireUndisputed` throw, or the listener's error when
   * a port is taken. Nothing has changed then but addresses that are open: see `abandon`.
   */
  async function check(
    leaving: ReadonlySet<string>,
    arriving: ReadonlyMap<string, Arrival>,
  ): Promise<() => void> {
    for (const { address, instance } of arriving.values()) {
      if (address !== undefined) await listeners.open(address, instance.plugin.name);
      if (instance.effects.grpc.length > 0) await grpc.open(instance.plugin.name);
    }
    const next = [...staying(leaving).values(), ...arriving.values()];
    const routes = new Map(kernelRoutes);
    for (const { instance, address } of next) {
      const below = listenRules(instance.plugin)?.below ?? '';
      for (const route of instance.effects.routes) {
        const isApart = route.pattern.startsWith(below);
        const kernels = onePort || !isApart ? kernelRoutes.keys() : [];
        const places = new Set([...keysOf(isApart ? [address] : []), ...kernels]);
        for (const place of places) routes.set(place, [...(routes.get(place) ?? []), route]);
      }
    }
    const effects = next.map(({ instance }) => instance.effects);
    requireUndisputed([...own, ...effects.flatMap(({ claims }) => claims)]);
    byKind(effects.flatMap(({ kinds }) => kinds));
    const swaps = [listeners.prepare(routes), grpc.prepare(effects.flatMap((of) => of.grpc))];
    return () => {
      for (const swap of swaps) swap();
    };
  }

  function keysOf(addresses: readonly (Address | undefined)[]): readonly string[] {
    return addresses.flatMap((address) => (address === undefined ? [] : [listeners.key(address)]));
  }

  function staying(leaving: ReadonlySet<string>): Map<string, Published> {
    return new Map([...live].filter(([name]) => !leaving.has(name)));
  }

  return {
    check,

    /** Routes of the kernel itself, which are there whatever plugins come and go. */
    async addKernelRoutes(address: Address, routes: readonly CompiledRoute[]): Promise<void> {
      kernelRoutes.set(listeners.key(address), routes);
      const swap = await check(new Set(), new Map());
      swap();
    },

    /** The value behind a service ref, of whichever live plugin provides it. */
    service(id: string): unknown {
      for (const { instance } of live.values()) {
        if (instance.effects.provided.has(id)) return instance.effects.provided.get(id);
      }
      return undefined;
    },

    /** Of the live plugins, and of those that left until they are passed to `forget`, unless they are back. */
    contributions(pointId: string): readonly unknown[] {
      const known = contributed.get(pointId);
      if (known !== undefined) return known;
      const running = [...live.values()].map(({ instance }) => instance);
      const left = [...departed].filter(([name]) => !live.has(name)).map(([, instance]) => instance);
      const made = [...running, ...left].flatMap(({ effects }) => effects.contributions);
      const values = made.filter((one) => one.pointId === pointId).map(({ value }) => value);
      contributed.set(pointId, values);
      return values;
    },

    /** The stages that requests pass now; the same array until plugins come or go. */
    stages: () => stages,

    probes(): readonly Probe[] {
      return [...live.values()].flatMap(({ instance }) => instance.effects.probes);
    },

    /**
     * Prepares a swap whole, resources too: `publish` makes it, `discard` gives it up. One of them has to be called,
     * and soon: reloads of agents.d wait for it. What those that leave contribute stays until `forget`, for their work.
     *
     * @throws like `check`.
     */
    async prepare(leaving: ReadonlySet<string>, arriving: ReadonlyMap<string, Arrival>) {
      const swap = await check(leaving, arriving);
      const next = staying(leaving);
      const all = [...next.values(), ...arriving.values()];
      const kinds = await resources.prepare(all.flatMap(({ instance }) => instance.effects.kinds));
      const publish = () => {
        for (const [name, { instance, withdraw }] of live) {
          if (!leaving.has(name)) continue;
          for (const one of withdraw) one();
          departed.set(name, instance);
        }
        for (const [name, { instance, address }] of arriving) {
          const withdraw = instance.effects.authenticators.map((one) => authentication.add(one));
          next.set(name, { instance, address, withdraw });
        }
        live = next;
        contributed.clear();
        stages = inOrder([...next.values()].flatMap(({ instance }) => instance.effects.stages));
        kinds.publish();
        swap();
      };
      return { publish, discard: kinds.discard };
    },

    /** From now on nothing of these instances, which left, is seen any more. */
    forget(instances: readonly PluginInstance[]): void {
      for (const [name, instance] of departed) if (instances.includes(instance)) departed.delete(name);
      contributed.clear();
    },

    /** Gives up what was checked and not published: closes the addresses that were opened for it. */
    async abandon(): Promise<void> {
      const used = keysOf([...live.values()].map(({ address }) => address));
      listeners.closeOthers(new Set([...kernelRoutes.keys(), ...used]));
      await grpc.abandon();
    },
  };
}
