import type { Next, ParameterizedContext } from 'koa';
import type { RequestState } from './request-state.ts';

/** The context of a request as the chain's stages see it. */
export type Context = ParameterizedContext<RequestState>;

/** A stage of the chain. */
export type Stage = (context: Context, next: Next) => Promise<void> | void;
