import { GatewayError, PermitErrors } from 'agent-gateway';
import { SessionErrors } from '../../contract.ts';

/** What ends a turn. */
export interface TurnSignals {
  readonly caller: AbortSignal;
  readonly permit: AbortSignal;
  /** Absent for a new session, which nobody else can name. */
  readonly lock: AbortSignal | undefined;
}

/** One signal for all of them, with the reason that callers understand. Disposing lets go of the others. */
export function turnSignal(signals: TurnSignals): { readonly signal: AbortSignal } & Disposable {
  const { caller, permit, lock } = signals;
  const controller = new AbortController();
  const follow = (source: AbortSignal, reasonOf: (reason: unknown) => unknown) => {
    const abort = () => controller.abort(reasonOf(source.reason));
    if (source.aborted) abort();
    else source.addEventListener('abort', abort);
    return () => source.removeEventListener('abort', abort);
  };
  const followed = [follow(caller, (reason) => reason), follow(permit, permitReason)];
  if (lock !== undefined) followed.push(follow(lock, lost));
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      for (const unfollow of followed) unfollow();
    },
  };
}

const lost = (cause: unknown) => SessionErrors.lost(undefined, { cause });

function permitReason(reason: unknown): GatewayError {
  const isRevoked = reason instanceof GatewayError && reason.code === PermitErrors.revoked.definition.code;
  return isRevoked ? SessionErrors.aborted() : lost(reason);
}
