import { hash } from 'node:crypto';
import type { Json } from './graph.ts';

/** Tells bodies of starts apart (`StartRequest.idempotency`): the same for the same JSON value, whatever the order of its members and the blanks between them. */
export function fingerprintOf(body: Json): string {
  return hash('sha256', JSON.stringify(sorted(body)), 'base64url');
}

function sorted(value: Json): Json {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(sorted);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  // As a list, since an object puts members that look like numbers first; in an object of its own, which no list is mistaken for.
  return { members: members.map(([name, item]) => [name, sorted(item)]) };
}
