import type { Guard } from './guard.ts';
import { ModelErrors } from './models.ts';

/**
 * Levels that a member of an answer may have, as many as a request's. More would exhaust the stack, here or where it is
 * written.
 */
const MAX_DEPTH = 256;

/**
 * A value whose strings, at any depth, are redacted. Throws `model.upstream` for what is nested more than 256 levels
 * deep.
 */
export function redactValue(value: unknown, guard: Guard, depth = 0): unknown {
  if (typeof value === 'string') return guard.redact(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) throw ModelErrors.upstream("The model provider's answer is nested too deep.");
  if (Array.isArray(value)) return value.map((item) => redactValue(item, guard, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, redactValue(item, guard, depth + 1)]),
  );
}
