import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../foundation/base/clock.ts';
import { isDecodable } from '../../foundation/base/decodable.ts';
import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import type { InFlight } from '../../foundation/base/in-flight.ts';
import { refusalOf } from '../../foundation/http/refusals.ts';
import { originForm } from '../../foundation/http/request-target.ts';
import type { AddressedRequest } from '../../foundation/http/source-address.ts';
import type { Route } from '../api/route.ts';
import { respondError, sendAnswer } from '../http/respond.ts';
import type { Match, RouteTable } from '../http/route-table.ts';
import type { CallState } from './call-state.ts';
import { type Context, type Middleware, RequestState } from './request-state.ts';

/**
 * Finds the route and enters its plugin's calls in flight, in one turn: a plugin that stops meanwhile waits for this
 * request. It leaves when its handler has settled and its response is out (or the client is gone).
 */
export function enter(
  table: () => RouteTable,
  clock: Clock,
  sourceAddress: (request: AddressedRequest) => string,
  hasStarted: () => boolean,
): Middleware {
  return async function enterRequest(context, next) {
    const { req } = context;
    req.url = originForm(req.url ?? '/');
    const end = req.url.indexOf('?');
    const path = end < 0 ? req.url : req.url.slice(0, end);
    const match = matchOf(req, path, table(), hasStarted());
    const state = new RequestState(match, path, clock.monotonic(), context);
    state.sourceAddress = sourceAddress(context.req);
    context.state = state;
    state.watch(() => clock.monotonic());
    // By a name first: CONTRIBUTING says why, under "dies young".
    const giveUp = () => {
      respondError(context, KernelErrors.draining());
      if (state.answer === undefined) context.res.destroy();
      else sendAnswer(context, state.answer);
    };
    state.giveUp = giveUp;
    const route = match.kind === 'route' ? match.route : undefined;
    if (route?.definition?.deprecated !== undefined) announce(context, route.definition.deprecated);
    const leave = route === undefined ? undefined : enterPlugin(route.inFlight, state);
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

function announce(context: Context, { since, sunset, successor }: NonNullable<Route['deprecated']>): void {
  context.set('deprecation', `@${since.getTime() / 1000}`);
  context.set('sunset', sunset.toUTCString());
  context.set('link', `<${successor}>; rel="successor-version"`);
}

function matchOf(request: IncomingMessage, path: string, table: RouteTable, hasStarted: boolean): Match {
  const refusal = refusalOf(request);
  if (refusal !== undefined) return { kind: 'refused', error: refusal };
  const match = table.find(request.method ?? 'GET', path);
  if (match.kind !== 'nothing') return match;
  const detail = 'The path holds a % that does not begin an escaped character of UTF-8';
  if (!isDecodable(path)) return { kind: 'refused', error: KernelErrors.invalidRequest(detail) };
  // Not when it is answered: the route may have come by then, and clients do not ask again after a 404.
  const soon = { headers: { 'retry-after': '1' } };
  return hasStarted ? match : { kind: 'refused', error: KernelErrors.starting(undefined, soon) };
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
