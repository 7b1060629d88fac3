import type { Clock, Egress } from 'agent-gateway';
import type { Tool, ToolSource } from '../../contract.ts';
import { builtinTool } from './builtin-tool.ts';
import { calculator } from './calculator.ts';
import { httpFetch } from './http-fetch.ts';

/** The built-in tools that need nothing but the kernel: `calculator`, `current_time`, `http_fetch`, `ask_user`. */
export function builtinTools(parts: {
  readonly clock: Clock;
  readonly egress: Pick<Egress, 'request'>;
}): ToolSource {
  const tools = [calculator, currentTime(parts), httpFetch(parts), askUser];
  return { prefix: 'builtin/', list: () => tools };
}

/** The tool `current_time`. */
export function currentTime({ clock }: { readonly clock: Clock }): Tool {
  return builtinTool({
    name: 'current_time',
    description:
      'Tells the current date, time and weekday. Use it whenever an answer depends on today. Returns JSON: time (ISO 8601 with offset), timezone, weekday.',
    properties: {
      timezone: {
        type: 'string',
        maxLength: 64,
        description: 'IANA time zone such as Europe/Berlin; default UTC',
      },
    },
    timeoutMs: 5_000,
    async invoke({ timezone = 'UTC' }) {
      const local = tellTime(clock.now(), String(timezone));
      if (local !== undefined) return { content: JSON.stringify(local) };
      return {
        content: 'Error: There is no such time zone. Use an IANA name like Europe/Berlin.',
        isError: true,
      };
    },
  });
}

/** A moment (Unix milliseconds) as clocks in a time zone show it; undefined for an unknown zone. Pure. */
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
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  weekday: 'long',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
  timeZoneName: 'longOffset',
};

/** The tool `ask_user`: the run pauses until a person has answered. */
export const askUser: Tool = builtinTool({
  name: 'ask_user',
  description:
    'Asks the user one question and waits for the answer. Use it only when you cannot go on without what the user alone knows or decides. Returns JSON with the member answer.',
  properties: {
    question: { type: 'string', minLength: 1, maxLength: 2_000, description: 'One clear question' },
    options: {
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: 200 },
      minItems: 2,
      maxItems: 20,
      uniqueItems: true,
      description: 'Answers to choose from; without them the user answers in his own words',
    },
  },
  required: ['question'],
  timeoutMs: 5_000,
  async invoke({ question, options }) {
    const common = { name: 'answer', label: String(question), required: true } as const;
    const field = Array.isArray(options)
      ? { ...common, type: 'select' as const, options: options.map(String) }
      : { ...common, type: 'text' as const };
    return { question: { reason: String(question), fields: [field] } };
  },
});
