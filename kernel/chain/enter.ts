import { RequestState } from '../http/request-state.ts';
import type { RouteTable } from '../http/route-table.ts';
import type { AddressedRequest } from '../http/source-address.ts';
import type { Stage } from '../http/stage.ts';
import type { Clock } from '../services/clock.ts';

/**
 * Finds the route and enters its plugin's calls in flight, in one turn: a plugin that stops meanwhile waits for this
 * request. It leaves when its handler has settled and its response is out (or the client is gone).
 */
export function enter(
  table: () => RouteTable,
  clock: Clock,
  sourceAddress: (request: AddressedRequest) => string,
): Stage {
  return async function enterRequest(context, next) {
    const url = context.req.url ?? '/';
    const end = url.indexOf('?');
    const path = end < 0 ? url : url.slice(0, end);
    const match = table().find(context.req.method ?? 'GET', path);
    const state = new RequestState(match, path, clock.monotonic());
    state.sourceAddress = sourceAddress(context.req);
    context.state = state;
    state.watch(context.res, () => clock.monotonic());
    if (match.kind !== 'route') return next();
    const { inFlight } = match.route;
    let pending = 2;
    const settle = () => {
      pending -= 1;
      if (pending === 0) inFlight.leave(state);
    };
    inFlight.enter(state);
    state.whenDone(settle);
    try {
      await next();
    } finally {
      settle();
    }
  };
}
