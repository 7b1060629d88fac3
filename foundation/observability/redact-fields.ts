import { errorFields } from './error-fields.ts';
import { clipText, REDACTED } from './redact-text.ts';
import { isSecretName } from './secret-names.ts';

/**
 * The fields of a log call as plain data: values under a secret's name replaced at any depth, errors told by
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

/** What may still be copied for one line: a wide and deep object must not stop the process or fill the log. */
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

function copyText(text: string, budget: Budget): string {
  const clipped = clipText(text, Math.min(MAX_TEXT, Math.max(0, budget.characters)));
  budget.characters -= clipped.length;
  return clipped;
}

function copyObject(value: object, depth: number, budget: Budget): unknown {
  if (value instanceof Error) return errorFields(value);
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
