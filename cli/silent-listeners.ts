import type { PublicationParts } from '../kernel/host/publication.ts';
import type { CompiledRoute } from '../kernel/http/compiled-route.ts';
import { RouteTable } from '../kernel/http/route-table.ts';

/** The listeners of a host, without one that listens: the tables are built, with the routes of `everywhere` in each, and collisions found. */
export function silentListeners(
  everywhere: readonly CompiledRoute[],
): PublicationParts['listeners'] & { routes(): readonly CompiledRoute[] } {
  let tables: readonly RouteTable[] = [];
  return {
    key: ({ host, port }) => `${host}:${port}`,
    open: async () => {},
    closeOthers: () => {},
    prepare(routes) {
      const next = [...routes.values()].map((own) => new RouteTable([...everywhere, ...own]));
      return () => {
        tables = next;
      };
    },
    routes: () => [...new Set(tables.flatMap(({ routes }) => routes))],
  };
}
