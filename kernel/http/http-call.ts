import { StateCall } from '../chain/state-call.ts';
import type { RequestState } from './request-state.ts';

/** One HTTP request as a handler sees it. */
export class HttpCall extends StateCall<RequestState> {
  // Assigned by the handler stage from what the validators passed; the route's schemas type them.
  params: unknown;
  query: unknown;
  headers: unknown;
  body: unknown;
}
