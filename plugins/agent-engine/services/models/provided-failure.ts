import { DeadlineError, GatewayError, type Logger } from 'agent-gateway';
import { ModelErrors } from '../../contract.ts';

const KNOWN: ReadonlySet<string> = new Set(
  Object.values(ModelErrors).map(({ definition }) => definition.code),
);

/**
 * The error that a caller gets for a failure in the code of a plugin's provider: the reason why the call ended, an
 * error of `ModelErrors` as it is, and for everything else a failure of the provider. The log has the rest.
 *
 * @param signal of the call
 */
export function providedFailure(
  thrown: unknown,
  signal: AbortSignal,
  provider: string,
  log: Logger,
): unknown {
  if (signal.aborted) return signal.reason;
  if (thrown instanceof GatewayError && KNOWN.has(thrown.code)) return thrown;
  if (thrown instanceof DeadlineError) return ModelErrors.timeout(undefined, { cause: thrown });
  log.warn({ err: thrown, provider }, 'the model provider of a plugin failed');
  return ModelErrors.upstream(undefined, { cause: thrown });
}
