import { DEFAULT_BODY_LIMIT, type Exchange, readRaw } from '../../foundation/http/body.ts';
import type { BodyBudget } from '../../foundation/http/body-budget.ts';
import type { Context, RequestState } from './request-state.ts';

/** Bytes of body that the route of a request reads at most. */
export function bodyLimitOf({ match }: RequestState): number {
  return (match.kind === 'route' ? match.route.bodyLimit : undefined) ?? DEFAULT_BODY_LIMIT;
}

/** A request whose body is read once: a second read returns the same bytes. */
export function exchangeOf({ req, res, state }: Context, bodies: BodyBudget): Exchange {
  const tenant = state.tenant?.id ?? '';
  return {
    req,
    res,
    bytes: state.bytes,
    room: {
      check: (bytes) => bodies.check(tenant, bytes),
      take: (bytes) => bodies.take(state, tenant, bytes),
    },
  };
}

/** Reads the body before it is known who sends it, for a credential that signs it. Empty where there is none. */
export function readAhead(context: Context, bodies: BodyBudget): Promise<Buffer> {
  const { state } = context;
  if (state.bytes === undefined) {
    // A refused request never reaches the handler, which would give the room back.
    state.whenDone(() => bodies.release(state));
    state.bytes = readRaw(exchangeOf(context, bodies), bodyLimitOf(state)).then((read) => read ?? NOTHING);
  }
  return state.bytes;
}

const NOTHING = Buffer.alloc(0);
