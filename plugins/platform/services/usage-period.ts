import { KernelErrors } from 'agent-gateway';
import type { UsagePeriod } from '../../records/contract.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Days before the last one, where no beginning is given. */
const DEFAULT_DAYS = 30;

/**
 * The period of a usage report. Without `to` it ends now (or begins and ends with a `from` that lies ahead, so that clocks which differ are
 * no mistake); without `from` it begins with the day, by UTC, that was 30 days before its end. Throws 400 naming `from` when it ends
 * before it begins.
 */
export function usagePeriod(
  { from, to }: { readonly from?: Date | undefined; readonly to?: Date | undefined },
  now: number,
): UsagePeriod {
  const end = to?.getTime() ?? Math.max(now, from?.getTime() ?? now);
  const start = from?.getTime() ?? (Math.floor(end / DAY_MS) - DEFAULT_DAYS) * DAY_MS;
  if (start > end) {
    const errors = [{ pointer: '/query/from', message: 'must not be later than `to`' }];
    throw KernelErrors.invalidRequest(undefined, { errors });
  }
  return { from: new Date(start), to: new Date(end) };
}
