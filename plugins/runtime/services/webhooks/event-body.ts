import type { Guard } from '../../../agent-engine/contract.ts';

/** Bytes of `data` in an event, as JSON. */
const MAX_DATA_BYTES = 64 * 1024;
/** Bytes of a member, its name included, that an outline keeps, and the number of its members. */
const MAX_MEMBER_BYTES = 1_000;
const MAX_MEMBERS = 50;

/**
 * The body that receivers get: `{type, timestamp, data}` (Standard Webhooks). Credentials are redacted. Data that are
 * too long are reduced to their short members, with `truncated: true`.
 */
export function eventBody(
  { type, at, data }: { readonly type: string; readonly at: Date; readonly data: object },
  guard: Pick<Guard, 'redactJsonText'>,
): string {
  const text = guard.redactJsonText(JSON.stringify(data));
  const fits = Buffer.byteLength(text) <= MAX_DATA_BYTES;
  return JSON.stringify({ type, timestamp: at.toISOString(), data: fits ? JSON.parse(text) : outline(text) });
}

function outline(text: string): object {
  const short = Object.entries(JSON.parse(text) as object)
    .filter((member) => Buffer.byteLength(JSON.stringify(member)) <= MAX_MEMBER_BYTES)
    .slice(0, MAX_MEMBERS);
  return { ...Object.fromEntries(short), truncated: true };
}
