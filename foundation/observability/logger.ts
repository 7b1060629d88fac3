import pino from 'pino';
import { type Clock, systemClock } from '../base/clock.ts';
import { createLogDestination, type LogDestination } from './log-destination.ts';
import { createHiddenTexts, redactFields, redactValue } from './redact-fields.ts';
import { clipText } from './redact-text.ts';

/** `log.info({ tenant_id }, 'what happened')`; `log.child({ plugin })` adds fields to every line. */
export type Logger = pino.Logger;

/** The levels of `LOG_LEVEL`. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

export interface LoggerOptions {
  readonly level: LogLevel;
  /** File descriptor, or something that takes lines; default standard output. */
  readonly destination?: number | { write(line: string): void };
  /** Lines for a person instead of JSON; default false. */
  readonly pretty?: boolean;
  /**
   * Configured secrets of any form (the static token, the model provider's key); shorter than 8 characters: ignored.
   */
  readonly secrets?: readonly string[];
  readonly clock?: Clock;
}

/** What the log says of a request. */
export interface AccessFields {
  readonly method: string | undefined;
  /** Without the query. */
  readonly path: string;
  readonly status: number;
  /** Milliseconds. */
  readonly ms: number;
  readonly requestId: string;
  readonly tenantId: string | undefined;
  readonly identity: string | undefined;
  readonly traceId: string | undefined;
  /** Code of the error that was sent. */
  readonly code: string | undefined;
  /** Why the credential that was presented does not hold. */
  readonly refused?: string | undefined;
}

/** The root logger with the means to empty its buffer. */
export type Logging = ReturnType<typeof createLogger>;

/**
 * Makes the root logger: one JSON object a line with `level` as a word, `time` in ISO 8601, `msg` and the fields of
 * the call. No secret gets out: values under a secret's name are replaced at any depth (`redactFields`), and the
 * finished line is searched for credentials (`redactLine`), wherever in the call they came from.
 */
export function createLogger(options: LoggerOptions) {
  const { clock = systemClock } = options;
  const destination = openDestination(options, clock, (lost) =>
    logger.warn({ lost_lines: lost }, 'log lines were dropped because the output stood still'),
  );
  const hidden = createHiddenTexts(options.secrets ?? []);
  const followers = new Set<(line: string) => void>();
  /** Who logs must not fail because of who reads along. */
  const notify = (follower: (line: string) => void, line: string) => {
    try {
      follower(line);
    } catch (err) {
      followers.delete(follower);
      setImmediate(() => logger.error({ err }, 'a listener to the log failed and gets no more lines'));
    }
  };
  const hide = (line: string) => {
    const shown = hidden.hideIn(line);
    for (const follower of followers) notify(follower, shown);
    return shown;
  };
  const timestamp = timestamps(clock);
  const stream = options.pretty
    ? { write: (line: string) => destination.write(prettyLine(line)) }
    : destination;
  const logger: Logger = pino(
    {
      level: options.level,
      base: undefined,
      timestamp,
      formatters: { level: (label) => ({ level: label }), log: redactFields },
      // `redactFields` has serialized the error already; pino's own serializer would not know it any more.
      serializers: { err: (fields: unknown) => fields },
      hooks: { logMethod: logRedacted, streamWrite: hide },
    },
    stream,
  );
  redactBindings(logger);
  return {
    logger,
    /**
     * Writes the line of one request, in the same form as `logger` would, in half of its time: the fields are flat and
     * known, and every request has one. Credentials are taken out of it like out of any other line.
     */
    access(level: 'debug' | 'info' | 'warn', fields: AccessFields): void {
      if (!logger.isLevelEnabled(level)) return;
      const members = JSON.stringify(fields).slice(1, -1);
      stream.write(hide(`{"level":"${level}"${timestamp()},${members},"msg":"request"}\n`));
    },
    /**
     * Calls `listener` with every later line as it is written, but as JSON where the output is pretty; one that throws
     * gets no more. Returns a function that ends it.
     */
    follow(listener: (line: string) => void): () => void {
      // A function of its own, so that one listener can follow twice and end once.
      const one = (line: string) => listener(line);
      followers.add(one);
      return () => void followers.delete(one);
    },
    /** Takes a secret that became known out of every later line. */
    hide: hidden.add,
    /** A text that is shown elsewhere than in the log, without such secrets and without credentials of known form. */
    withoutSecrets: hidden.hideInText,
    /** Resolves when everything was written, or could not be within a second. Call it at the end of the process. */
    flush: destination.flush,
    /** The same without the event loop, for a crash. */
    flushSync: destination.flushSync,
    /** Lines that were lost because the output was blocked. */
    droppedLines: destination.droppedLines,
  };
}

const STANDARD_OUTPUT = 1;
const MAX_MESSAGE = 16_384;

function openDestination(
  { destination = STANDARD_OUTPUT }: LoggerOptions,
  clock: Clock,
  onRecovered: (lostLines: number) => void,
): LogDestination {
  if (typeof destination === 'number') {
    return createLogDestination({ descriptor: destination, clock, onRecovered });
  }
  return {
    write: (line) => destination.write(line),
    flush: async () => undefined,
    flushSync: () => undefined,
    droppedLines: () => 0,
  };
}

/** The time of a line. Under load many lines share a millisecond, and its text. */
function timestamps(clock: Clock): () => string {
  let moment = Number.NaN;
  let text = '';
  return () => {
    const now = clock.now();
    if (now !== moment) {
      moment = now;
      text = `,"time":"${new Date(now).toISOString()}"`;
    }
    return text;
  };
}

/** Arguments after the first are put into the message as text, where names of fields are hard to find again. */
function logRedacted(this: Logger, args: Parameters<pino.LogFn>, method: pino.LogFn): void {
  for (let index = 0; index < args.length; index += 1) {
    const value: unknown = args[index];
    if (typeof value === 'string') {
      if (value.length > MAX_MESSAGE) args[index] = clipText(value, MAX_MESSAGE);
    } else if (index > 0) args[index] = redactValue(value);
  }
  method.apply(this, args);
}

/** pino formats the fields of a call but not those of a child; children inherit these two from the root. */
function redactBindings(logger: Logger): void {
  const { child, setBindings } = logger;
  logger.child = function childRedacted(this: Logger, bindings, options) {
    return child.call(this, { ...redactFields(bindings) }, options);
  } as Logger['child'];
  logger.setBindings = function setBindingsRedacted(this: Logger, bindings) {
    setBindings.call(this, { ...redactFields(bindings) });
  };
}

/** A line of the JSON log for a person at a terminal: time, level, message, then the other fields, errors last. */
export function prettyLine(line: string): string {
  const { time, level, msg, err, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const clock = String(time).slice(11, 23);
  const fields = Object.entries(rest).map(([name, value]) => ` ${name}=${show(value)}`);
  const head = `${clock} ${String(level).toUpperCase().padEnd(5)} ${msg ?? ''}${fields.join('')}`;
  return `${head}${err === undefined ? '' : showError(err)}\n`;
}

function show(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}

function showError(error: unknown): string {
  const { stack, message, cause } = (error ?? {}) as { stack?: string; message?: string; cause?: unknown };
  const text = `\n    ${(stack ?? message ?? show(error)).replaceAll('\n', '\n    ')}`;
  return cause === undefined ? text : `${text}\n    caused by:${showError(cause)}`;
}
