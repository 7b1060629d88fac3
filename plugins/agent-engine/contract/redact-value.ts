import type { Guard } from './guard.ts';
import { ModelErrors } from './models.ts';

/**
 * Levels that a member of an answer may have, as many as a request's. More would exhaust the stack, here or where it is
 * written.
 */
const MAX_DEPTH = 256;

/**
 * A value whose strings, at any depth, are redacted; images, audio and other media in members of it stay as they are.
 * Throws `model.upstream` for what is nested more than 256 levels deep.
 */
export function redactValue(value: unknown, guard: Guard, depth = 0): unknown {
  if (typeof value === 'string') return depth > 0 && isMedia(value) ? value : guard.redact(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) throw ModelErrors.upstream("The model provider's answer is nested too deep.");
  if (Array.isArray(value)) return value.map((item) => redactValue(item, guard, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, redactValue(item, guard, depth + 1)]),
  );
}

/** Characters of base64 from which on a text may be media. */
const SHORTEST_MEDIA = 1024;
const DATA_URL = /^data:(?:application|audio|image|video)\/[a-z0-9.+-]{1,32};base64,/;

/**
 * True for base64 of what is no text, with the head of a data: URL or without. By chance something in it looks like a
 * credential about once in 14 MB, and an image or a sound with a mark inside cannot be shown or played any more.
 */
function isMedia(text: string): boolean {
  if (text.length < SHORTEST_MEDIA) return false;
  const head = DATA_URL.exec(text.slice(0, 64))?.[0] ?? '';
  const base64 = text.slice(head.length).replace(/={1,2}$/, '');
  if (base64.length < SHORTEST_MEDIA || /[^A-Za-z0-9+/]/.test(base64)) return false;
  return Buffer.from(base64.slice(0, SHORTEST_MEDIA), 'base64').some((byte) => byte < 0x09);
}
