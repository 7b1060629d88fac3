import type { FieldAnnotation } from './field-annotation.ts';
import { fieldCodecs } from './field-codec.ts';

/** A decoded value, or the reason why there is none. */
export type Decoded = { readonly value: unknown } | { readonly problem: string };

/** Decodes the text of a variable, which is not empty. Never throws; the problem names no secret value. */
export function decodeText(text: string, field: FieldAnnotation): Decoded {
  const trimmed = field.kind === 'string' ? text : text.trim();
  return check(text, fieldCodecs[field.kind].fromText(trimmed, field), field);
}

/** Decodes a value of a YAML file, which is not null. Never throws; the problem names no secret value. */
export function decodeValue(value: unknown, field: FieldAnnotation): Decoded {
  return check(value, fieldCodecs[field.kind].fromFile(value, field), field);
}

/**
 * A value as it may be shown in a message: short, on one line, and without the password of a URL.
 */
export function quoteValue(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'a mapping';
  if (typeof value !== 'string') return String(value);
  const shown = value.replace(/\/\/.*@/s, '//***@');
  return JSON.stringify(shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown);
}

const MAX_SHOWN = 60;

function check(raw: unknown, value: unknown, field: FieldAnnotation): Decoded {
  const { expected, bounds } = fieldCodecs[field.kind];
  if (value === undefined) {
    return { problem: `${field.secret ? 'the value' : quoteValue(raw)} is not ${expected(field)}` };
  }
  if (bounds === undefined) return { value };
  const size = bounds.measure(value);
  if (field.min !== undefined && size < field.min)
    return { problem: `must be at least ${bounds.show(field.min)}` };
  if (field.max !== undefined && size > field.max)
    return { problem: `must be at most ${bounds.show(field.max)}` };
  return { value };
}
