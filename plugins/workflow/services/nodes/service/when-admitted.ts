import { EgressErrors, GatewayError } from 'agent-gateway';
import { againWhile } from '../again-while.ts';

const PAUSES = { first: 50, most: 1_000 };

/**
 * Sends as soon as egress has room. How many requests a tenant may have open is the gateway's own affair, and no fault of the workflow: a step that
 * comes when all are open waits its turn, until its deadline aborts `signal`. What egress refuses so is not sent; of a redirect that finds no room the
 * request before it is repeated, with the same key. Everything else that `send` throws is thrown.
 */
export function whenAdmitted<T>(send: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return againWhile(send, { isPassing: isBusy, pauses: PAUSES }, signal);
}

function isBusy(error: unknown): boolean {
  return error instanceof GatewayError && error.code === EgressErrors.busy.definition.code;
}
