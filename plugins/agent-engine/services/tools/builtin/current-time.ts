import type { Clock } from 'agent-gateway';
import type { Tool } from '../../../contract.ts';

/** The tool `current_time`. */
export function currentTime({ clock }: { readonly clock: Clock }): Tool {
  return {
    ref: 'builtin/current_time',
    name: 'current_time',
    description:
      'Tells the current date, time and weekday. Use it whenever an answer depends on today. Returns JSON: time (ISO 8601 with offset), timezone, weekday.',
    parameters: {
      type: 'object',
      properties: {
        timezone: {
          type: 'string',
          maxLength: 64,
          description: 'IANA time zone such as Europe/Berlin; default UTC',
        },
      },
      additionalProperties: false,
    },
    timeoutMs: 5_000,
    async invoke({ timezone = 'UTC' }) {
      const told = tellTime(clock.now(), String(timezone));
      if (told !== undefined) return { content: JSON.stringify(told) };
      return {
        content: 'Error: There is no such time zone. Use an IANA name like Europe/Berlin.',
        isError: true,
      };
    },
  };
}

/** A moment (Unix milliseconds) as clocks in a time zone show it; undefined for a zone that nobody knows. Pure. */
export function tellTime(
  moment: number,
  timezone: string,
): { readonly time: string; readonly timezone: string; readonly weekday: string } | undefined {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', { ...FIELDS, timeZone: timezone });
  } catch {
    return undefined;
  }
  const parts = new Map(format.formatToParts(moment).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? '';
  // `GMT+05:30`; some versions of ICU write UTC as `GMT` alone.
  const offset = part('timeZoneName').slice(3) || '+00:00';
  const date = `${part('year')}-${part('month')}-${part('day')}`;
  const time = `${date}T${part('hour')}:${part('minute')}:${part('second')}${offset}`;
  return { time, timezone: format.resolvedOptions().timeZone, weekday: part('weekday') };
}

const FIELDS: Intl.DateTimeFormatOptions = {
  calendar: 'gregory',
  numberingSystem: 'latn',
  ...{ year: 'numeric', month: '2-digit', day: '2-digit', weekday: 'long' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
  timeZoneName: 'longOffset',
};
