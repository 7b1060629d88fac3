import { type Clock, type GatewayError, type Logger, throttledLogs } from 'agent-gateway';
import { ModelErrors } from '../../contract.ts';

/** Reports that a call of the model with this label failed, in a way that nothing else logs. */
export type LogModelFailure = (label: string, error: GatewayError) => void;

/** Logs what the provider said, once a minute for each model at most. An open circuit has lines of its own. */
export function createFailureLog(clock: Clock, log: Pick<Logger, 'warn'>): LogModelFailure {
  const report = throttledLogs<GatewayError>(clock, (model, { code, cause, message }, count) =>
    log.warn({ model, code, err: cause ?? message, count }, 'the provider of a model failed'),
  );
  return (model, error) => {
    if (!ModelErrors.unavailable.is(error)) report(model, error);
  };
}
