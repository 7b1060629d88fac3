import type { Clock } from '../base/clock.ts';
import { KernelErrors } from '../base/error-catalogue.ts';
import type { GatewayError } from '../base/gateway-error.ts';
import { throttledLogs } from '../base/throttle.ts';
import type { Logger } from '../observability/logger.ts';
import { HTTP_STATUS } from './status.ts';

/** The call that failed. */
interface FailedCall {
  /** The plugin that was called. */
  readonly owner: string | undefined;
  /** Its route, or the method's full name. */
  readonly pattern: string;
  readonly requestId: string;
  readonly isAborted: boolean;
}

/** Logs a failure of the gateway's own with its cause; callers' mistakes are no failures. */
export type LogFailure = (call: FailedCall, error: GatewayError) => void;

/** Codes of refusals by which nothing has failed; each has the line of its request. */
const EXPECTED: ReadonlySet<string> = new Set(
  [KernelErrors.overloaded, KernelErrors.starting].map(({ definition }) => definition.code),
);

/**
 * Makes the one that logs why calls failed. What is away fails every call that needs it: that is one line a minute for
 * each plugin and code, with the number of calls, which have lines of their own with this code.
 */
export function createFailureLog(log: Pick<Logger, 'error'>, clock: Pick<Clock, 'monotonic'>): LogFailure {
  const logAway = throttledLogs<readonly [fields: object, detail: string]>(
    clock,
    (_, [fields, detail], count) => log.error({ ...fields, count }, detail),
  );
  return ({ owner: plugin, pattern: route, requestId, isAborted }, error) => {
    const { code, kind, cause, detail } = error;
    if (HTTP_STATUS[kind] < 500 || isAborted) return;
    // Without a cause it is a bound that holds, which must not fill the log, or a start that clients wait for.
    if (EXPECTED.has(code) && cause === undefined) return;
    const fields = { err: cause ?? error, code, plugin, route, requestId };
    if (kind === 'unavailable') logAway(`${plugin} ${code}`, [fields, detail]);
    else log.error(fields, detail);
  };
}
