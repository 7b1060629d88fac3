import type { TestGateway } from '../start-test-gateway.ts';
import type { ConformanceOptions } from './options.ts';
import { placed } from './subject.ts';

interface LoggedFailure {
  readonly requestId?: string;
  /** What was thrown, also where it is no error. */
  readonly err?: { readonly message?: string; readonly stack?: string } | string;
}

/** `: what went wrong (routes/items.ts:12)`: what the log of the gateway says of the failure of a call; empty where it says nothing. */
export function failureIn(gateway: TestGateway, requestId: string, options: ConformanceOptions): string {
  const line = gateway.logs().findLast((one) => one.includes(requestId) && one.includes('"err"'));
  if (line === undefined) return '';
  const { err: thrown = {} } = JSON.parse(line) as LoggedFailure;
  const err = typeof thrown === 'string' ? { message: thrown } : thrown;
  const [message = ''] = (err.message ?? '').split('\n', 1);
  const error = Object.assign(new Error(message), { stack: 'stack' in err ? err.stack : '' });
  return `: ${message}${placed(error, options)}`;
}
