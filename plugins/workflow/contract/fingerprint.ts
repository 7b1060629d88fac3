import { hash } from 'node:crypto';
import type { Json } from './graph.ts';

/**
 * Distinguishes the bodies of starts (`StartRequest.idempotency`): equal for equal JSON values, regardless of the order
 * of members and of whitespace.
 */
export function fingerprintOf(body: Json): string {
  return hash('sha256', JSON.stringify(sorted(body)), 'base64url');
}

function sorted(value: Json): Json {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(sorted);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  // As a list, since an object puts members that look like numbers first; wrapped in an object, so that it cannot equal
  // an array.
  return { members: members.map(([name, item]) => [name, sorted(item)]) };
}
