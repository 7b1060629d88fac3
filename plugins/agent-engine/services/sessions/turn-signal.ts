import { GatewayError, LeaseErrors } from 'agent-gateway';
import { SessionErrors } from '../../contract.ts';

/** What ends a turn. */
export interface TurnSignals {
  readonly caller: AbortSignal;
  readonly lease: AbortSignal;
}

/** One signal for both, with the reason that callers understand. Disposing lets go of the others. */
export function turnSignal({ caller, lease }: TurnSignals): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const follow = (source: AbortSignal, reasonOf: (reason: unknown) => unknown) => {
    const abort = () => controller.abort(reasonOf(source.reason));
    if (source.aborted) abort();
    else source.addEventListener('abort', abort);
    return () => source.removeEventListener('abort', abort);
  };
  const followed = [follow(caller, (reason) => reason), follow(lease, leaseReason)];
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      for (const unfollow of followed) unfollow();
    },
  };
}

function leaseReason(reason: unknown): GatewayError {
  const isRevoked = reason instanceof GatewayError && reason.code === LeaseErrors.revoked.definition.code;
  return isRevoked ? SessionErrors.aborted() : SessionErrors.lost(undefined, { cause: reason });
}
