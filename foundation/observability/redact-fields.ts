import { clipText, REDACTED, redactLine, redactText } from './redact-text.ts';

/**
 * The fields of a log call as plain data: values under a secret's name replaced at any depth, errors serialized by
 * `errorFields`, everything bounded (depth, members, text length) and never throwing. Flat fields without a secret
 * name, the usual case, are returned as they are.
 */
export function redactFields(fields: object): Record<string, unknown> {
  return isPlain(fields) ? (fields as Record<string, unknown>) : copyMembers(fields, 0, fullBudget());
}

/** The same for one value, an interpolation argument for example. */
export function redactValue(value: unknown): unknown {
  return needsCopy(value) ? copy(value, 0, fullBudget()) : value;
}

const MAX_DEPTH = 6;
const MAX_VALUES = 1000;
const MAX_MEMBERS = 100;
const MAX_TEXT = 16_384;
const MAX_CHARACTERS = 65_536;

/**
 * What may still be copied for one line: a wide and deep object, or a tree of failures, must not stop the process or
 * fill the log.
 */
interface Budget {
  values: number;
  characters: number;
}

function fullBudget(): Budget {
  return { values: MAX_VALUES, characters: MAX_CHARACTERS };
}

/** True when nothing has to be replaced; a member that throws when it is read has to be. */
function isPlain(fields: object): boolean {
  try {
    for (const name in fields) {
      if (needsCopy((fields as Record<string, unknown>)[name]) || isSecretName(name)) return false;
    }
    return true;
  } catch {
    return false;
  }
}

function needsCopy(value: unknown): boolean {
  return (
    (typeof value === 'object' && value !== null) || (typeof value === 'string' && value.length > MAX_TEXT)
  );
}

function copy(value: unknown, depth: number, budget: Budget): unknown {
  if (typeof value === 'string') return copyText(value, budget);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  budget.values -= 1;
  if (budget.values < 0 || depth > MAX_DEPTH) return '[…]';
  try {
    return copyObject(value, depth, budget);
  } catch {
    return '[unreadable]';
  }
}

function copyText(text: string, budget: Budget, limit = MAX_TEXT): string {
  if (budget.characters <= 0 && text !== '') return '…';
  const clipped = clipText(text, Math.min(limit, budget.characters));
  budget.characters -= clipped.length;
  return clipped;
}

function copyObject(value: object, depth: number, budget: Budget): unknown {
  if (value instanceof Error) return errorFields(value, budget);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if ('toJSON' in value && typeof value.toJSON === 'function') return copy(value.toJSON(), depth + 1, budget);
  if (Array.isArray(value)) {
    const items = value.slice(0, MAX_MEMBERS).map((item) => copy(item, depth + 1, budget));
    return value.length > MAX_MEMBERS ? [...items, `… ${value.length - MAX_MEMBERS} more`] : items;
  }
  return copyMembers(value, depth, budget);
}

function copyMembers(source: object, depth: number, budget: Budget): Record<string, unknown> {
  // Without a prototype, so that a member called `__proto__` is only that.
  const target: Record<string, unknown> = Object.create(null);
  let members = 0;
  for (const name of Object.keys(source)) {
    members += 1;
    if (members > MAX_MEMBERS) {
      target['…'] = 'more';
      break;
    }
    target[name] = readMember(source, name, depth, budget);
  }
  return target;
}

function readMember(source: object, name: string, depth: number, budget: Budget): unknown {
  try {
    const value = (source as Record<string, unknown>)[name];
    if (isSecretName(name)) return value === undefined || value === null ? value : REDACTED;
    return copy(value, depth + 1, budget);
  } catch {
    return '[unreadable]';
  }
}

/**
 * True for a field, header or cookie name whose value is a credential, whatever it looks like (`password`,
 * `X-API-Key`, `client_secret`). Case, `-`, `_` and `.` do not matter.
 */
export function isSecretName(name: string): boolean {
  const known = verdicts.get(name);
  if (known !== undefined) return known;
  const verdict = judge(name);
  // Names come from code and from callers' JSON; the bound keeps the latter from growing the table.
  if (verdicts.size < MAX_VERDICTS && name.length <= MAX_NAME) verdicts.set(name, verdict);
  return verdict;
}

const MAX_VERDICTS = 2000;
const MAX_NAME = 128;
const verdicts = new Map<string, boolean>();

function judge(name: string): boolean {
  const plain = name.toLowerCase().replace(/[-_.\s]/g, '');
  return WHOLE.has(plain) || ENDING.test(plain);
}

const WHOLE: ReadonlySet<string> = new Set([
  'key',
  'dsn',
  'mysqldsn',
  'databaseurl',
  'redisurl',
  'credential',
]);
const ENDING =
  /(?:authorization|cookie|password|passwd|pwd|passphrase|secret|token|apikey|privatekey|signingkey|credentials|svcsession|svccsrf|xcsrf)$/;

const MIN_SECRET = 8;
/** Every line is searched for each of them. */
const MAX_SECRETS = 256;

/** The secrets that no log line and no shown text may hold, some known from the start, others since they were read. */
export function createHiddenTexts(secrets: readonly string[]) {
  /** As they are, and as JSON writes them; the latest used last. */
  const written = new Map<string, string>();

  /**
   * Shorter than 8 characters: ignored. Of more than 256 the one that was not added for the longest time is given up.
   */
  function add(secret: string): void {
    if (secret.length < MIN_SECRET) return;
    written.delete(secret);
    written.set(secret, JSON.stringify(secret).slice(1, -1));
    const [oldest] = written.keys();
    if (written.size > MAX_SECRETS) written.delete(oldest!);
  }

  /** Removes them, and credentials of known form, from a line. */
  function hideIn(line: string): string {
    let text = line;
    for (const secret of written.values())
      if (text.includes(secret)) text = text.replaceAll(secret, REDACTED);
    return redactLine(text);
  }

  /** The same for a text that is no line of JSON. */
  function hideInText(text: string): string {
    let shown = text;
    for (const secret of written.keys()) shown = shown.replaceAll(secret, REDACTED);
    return redactText(shown);
  }

  for (const secret of secrets) add(secret);
  return { add, hideIn, hideInText };
}

/** What a log line says about a failure. Own members of the error are left out: clients put whole requests there. */
export interface ErrorFields {
  /** Class name. */
  readonly type: string;
  readonly message: string;
  /** The stable code of a catalogued error, or `ECONNREFUSED` and its like. */
  readonly code?: string | number;
  readonly stack?: string;
  /** The failure below, at most `MAX_CAUSES` deep. */
  readonly cause?: ErrorFields | string;
  /** The first failures of an `AggregateError`. */
  readonly errors?: readonly (ErrorFields | string)[];
}

const MAX_CAUSES = 5;
const MAX_AGGREGATED = 5;
const MAX_ERROR_MESSAGE = 4096;
const MAX_STACK = 8192;

/** Serializes an error for the log. Secrets in its texts fall to `redactLine` later. */
function errorFields(error: Error, budget: Budget, depth = 0): ErrorFields {
  const { code, cause, errors } = error as Error & { code?: unknown; errors?: unknown };
  const hasRoom = depth < MAX_CAUSES;
  return {
    type: error.constructor?.name ?? error.name,
    message: copyText(String(error.message), budget, MAX_ERROR_MESSAGE),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(typeof error.stack === 'string' ? { stack: copyText(error.stack, budget, MAX_STACK) } : {}),
    ...(cause !== undefined && hasRoom ? { cause: failureFields(cause, budget, depth + 1) } : {}),
    ...(Array.isArray(errors) && hasRoom
      ? { errors: errors.slice(0, MAX_AGGREGATED).map((each) => failureFields(each, budget, depth + 1)) }
      : {}),
  };
}

function failureFields(thrown: unknown, budget: Budget, depth: number): ErrorFields | string {
  budget.values -= 1;
  if (budget.values < 0) return '[…]';
  if (thrown instanceof Error) return errorFields(thrown, budget, depth);
  return typeof thrown === 'string' ? copyText(thrown, budget, MAX_ERROR_MESSAGE) : `[${typeof thrown}]`;
}
