import type { Clock } from '../../foundation/base/clock.ts';
import { sendAnswer } from '../http/respond.ts';
import type { RouteTable } from '../http/route-table.ts';
import type { AddressedRequest } from '../http/source-address.ts';
import type { CallState } from './call-state.ts';
import type { InFlight } from './in-flight.ts';
import { type Middleware, RequestState } from './request-state.ts';

/**
 * Finds the route and enters its plugin's calls in flight, in one turn: a plugin that stops meanwhile waits for this
 * request. It leaves when its handler has settled and its response is out (or the client is gone).
 */
export function enter(
  table: () => RouteTable,
  clock: Clock,
  sourceAddress: (request: AddressedRequest) => string,
): Middleware {
  return async function enterRequest(context, next) {
    const url = context.req.url ?? '/';
    const end = url.indexOf('?');
    const path = end < 0 ? url : url.slice(0, end);
    const match = table().find(context.req.method ?? 'GET', path);
    const state = new RequestState(match, path, clock.monotonic(), context);
    state.sourceAddress = sourceAddress(context.req);
    context.state = state;
    state.watch(() => clock.monotonic());
    const leave = match.kind === 'route' ? enterPlugin(match.route.inFlight, state) : undefined;
    try {
      await next();
    } finally {
      leave?.();
    }
    if (state.answer === undefined) return;
    context.respond = false;
    sendAnswer(context, state.answer);
  };
}

/** Enters the calls in flight. They are left when the returned function was called and the response has ended, too. */
export function enterPlugin(inFlight: InFlight, state: CallState): () => void {
  let pending = 2;
  const leave = () => {
    pending -= 1;
    if (pending === 0) inFlight.leave(state);
  };
  inFlight.enter(state);
  state.whenDone(leave);
  return leave;
}
