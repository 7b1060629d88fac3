import { ObjectErrors } from './object-errors.ts';

/** Bytes of a key of a tenant; S3 takes 1024 with the tenant's id before it. */
const MAX_KEY_BYTES = 900;
const MAX_SEGMENT_BYTES = 200;
const TENANT_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** Longest key of `all()`: a tenant's id, a slash, and a key. */
const MAX_WHOLE_KEY_BYTES = 64 + 1 + MAX_KEY_BYTES;

/** The first segment of what belongs to no tenant. */
export const SYSTEM_FOLDER = '_system';

// C0, DEL and C1 have no place in a name; U+FFFE and U+FFFF none in XML, in which S3 lists.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f\ufffe\uffff]/;

/** Which keys a space takes. */
export type KeyRule = 'of-tenant' | 'whole';

/** Throws `objects.invalid-key` naming what is wrong with the key. */
export function checkKey(key: string, rule: KeyRule): void {
  const problem = problemOf(key, rule) ?? segmentsProblem(key.split('/')) ?? ownerProblem(key, rule, true);
  if (problem !== undefined) throw ObjectErrors.invalidKey(`the key ${problem}`);
}

/** The same for the beginning of keys: it may be empty, and its last segment is any beginning of one. */
export function checkPrefix(prefix: string, rule: KeyRule): void {
  if (prefix === '') return;
  const segments = prefix.split('/');
  const problem =
    problemOf(prefix, rule) ??
    segmentsProblem(segments.slice(0, -1)) ??
    ownerProblem(prefix, rule, segments.length > 1);
  if (problem !== undefined) throw ObjectErrors.invalidKey(`the prefix ${problem}`);
}

/** Throws `objects.invalid-key` when this is no id of a tenant. */
export function checkTenantId(tenantId: string): void {
  if (TENANT_ID.test(tenantId)) return;
  throw ObjectErrors.invalidKey('the tenant has an id that cannot be part of a key');
}

function problemOf(text: string, rule: KeyRule): string | undefined {
  const limit = rule === 'whole' ? MAX_WHOLE_KEY_BYTES : MAX_KEY_BYTES;
  if (text === '') return 'is empty';
  if (Buffer.byteLength(text) > limit) return `is longer than ${limit} bytes`;
  if (!text.isWellFormed()) return 'is no well-formed Unicode';
  if (FORBIDDEN.test(text)) return 'holds a control character';
  if (text.includes('\\')) return 'holds a backslash';
  return undefined;
}

function segmentsProblem(segments: readonly string[]): string | undefined {
  for (const segment of segments) {
    if (segment === '') return 'has an empty segment (a slash at its beginning or end, or two together)';
    if (segment === '.' || segment === '..') return `has the segment "${segment}"`;
    if (Buffer.byteLength(segment) > MAX_SEGMENT_BYTES) {
      return `has a segment of more than ${MAX_SEGMENT_BYTES} bytes`;
    }
  }
  return undefined;
}

function ownerProblem(text: string, rule: KeyRule, isOwnerWhole: boolean): string | undefined {
  if (rule === 'of-tenant' || !isOwnerWhole) return undefined;
  const slash = text.indexOf('/');
  const owner = text.slice(0, slash);
  if (slash > 0 && (owner === SYSTEM_FOLDER || TENANT_ID.test(owner))) return undefined;
  return `does not begin with a tenant's id or ${SYSTEM_FOLDER}, and a slash`;
}
