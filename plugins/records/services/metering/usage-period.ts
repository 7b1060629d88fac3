import type { UsagePeriod } from '../../contract.ts';
import type { UsageWindow } from '../../store/usage.ts';
import type { DayRange } from '../../store/usage-days.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const FIRST = Date.UTC(1970, 0, 1);
const LAST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** The parts of a period. */
export interface UsageParts {
  /** Whole days that are added up; absent where there are none. */
  readonly added: DayRange | undefined;
  /** What is left, before and after them: of these the records are read. */
  readonly open: readonly UsageWindow[];
}

/** The day of a moment in UTC, `YYYY-MM-DD`. */
export function dayOf(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}

/** The day so many days after another (before it, when negative). */
export function daysFrom(day: string, days: number): string {
  return dayOf(new Date(Date.parse(day) + days * DAY_MS));
}

/** The window of a period. Databases refuse years of more than four digits, in which there are no records anyway. */
export function toWindow(period: UsagePeriod): UsageWindow {
  const [from, to] = [period.from, period.to].map(
    (moment) => new Date(Math.min(Math.max(moment.getTime(), FIRST), LAST)),
  ) as [Date, Date];
  return { firstDay: dayOf(from), lastDay: dayOf(to), from, to };
}

/**
 * Divides a window into whole days up to `throughDay` (empty: none are added up) and the rest: a day that begins or
 * ends within the window is read from records, like those after `throughDay`. Pure.
 */
export function splitWindow(window: UsageWindow, throughDay: string): UsageParts {
  const isPart = startOf(window.firstDay) < window.from.getTime();
  // No day is after the last one that there is.
  if (isPart && window.firstDay === window.lastDay) return { added: undefined, open: [window] };
  const first = isPart ? daysFrom(window.firstDay, 1) : window.firstDay;
  const isWhole = window.to.getTime() === startOf(window.lastDay) + DAY_MS - 1;
  const whole = isWhole ? window.lastDay : daysFrom(window.lastDay, -1);
  const last = whole < throughDay ? whole : throughDay;
  if (last < first) return { added: undefined, open: [window] };
  const before = { from: window.from, to: new Date(startOf(first) - 1) };
  const after = { from: new Date(startOf(last) + DAY_MS), to: window.to };
  return {
    added: { firstDay: first, lastDay: last },
    open: [before, after].filter(({ from, to }) => from <= to).map(toWindow),
  };
}

/** The moments of whole days. */
export function momentsOf({ firstDay, lastDay }: DayRange): { readonly from: Date; readonly to: Date } {
  return { from: new Date(startOf(firstDay)), to: new Date(startOf(lastDay) + DAY_MS - 1) };
}

/** The first millisecond of a day. */
function startOf(day: string): number {
  return Date.parse(day);
}
