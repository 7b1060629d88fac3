import { isSecretName } from '../observability/redact-fields.ts';
import { REDACTED, redactText } from '../observability/redact-text.ts';
import type { AuditDetail, AuditExtra } from './audit-entry.ts';

const MAX_PARAMETERS = 32;
const MAX_BODY_FIELDS = 64;
const MAX_CHANGES = 16;
const MAX_NAME = 64;
const MAX_VALUE = 256;
/** Characters of all names and values together. */
const MAX_TOTAL = 4_096;
/** Longer queries are not looked at beyond this. */
const MAX_QUERY = 16_384;

/**
 * Names whose values are credentials in a query although they are not elsewhere: OAuth codes, signed URLs, links of
 * logins.
 */
const QUERY_SECRET =
  /(?:key|code|sig|signature|auth|pass|otp|jwt|assertion|verifier|credential|nonce|challenge)$|secret|token|password/;

/** From here on `state` is that of a login at a provider, which is stored as a hash; shorter ones are filters. */
const LOGIN_STATE = 20;

/**
 * What an audit record says about a request beyond its columns (decisions 1.4): the query without credentials
 * (`query`), the names of body members, never their values (`body_fields`), whom an `X-Svc-User-Id` named
 * (`svc_user_id`), and what the route says that it made or changed (`changes`), or does not want to be recorded
 * (`hidden`), and which credential was refused, and why (`refused`). Bounded: what is cut off or left out is marked by
 * `truncated`. Members that would be empty are absent.
 *
 * @param query with or without its question mark
 */
export function auditDetail(
  query: URLSearchParams | string,
  bodyFields: readonly string[],
  userIdHeader: string | undefined,
  { changes, hidden = [] }: AuditExtra = {},
  refused?: RefusedCredential,
): AuditDetail {
  const hasQuery = typeof query === 'string' ? query !== '' && query !== '?' : query.size > 0;
  const hasMore = userIdHeader !== undefined || changes !== undefined || refused !== undefined;
  if (!hasQuery && bodyFields.length === 0 && !hasMore) return NOTHING;
  const budget = new Budget(MAX_TOTAL);
  const detail: Record<string, unknown> = {};
  if (userIdHeader !== undefined) detail.svc_user_id = budget.take(userIdHeader, MAX_VALUE);
  if (refused !== undefined) detail.refused = sanitizeRefused(refused, budget);
  if (changes !== undefined) detail.changes = sanitizeChanges(changes, budget);
  if (hasQuery) detail.query = sanitizeQuery(query, hidden, budget);
  if (bodyFields.length > 0) {
    if (bodyFields.length > MAX_BODY_FIELDS) budget.isExceeded = true;
    const names = bodyFields.slice(0, MAX_BODY_FIELDS).map((name) => budget.take(name, MAX_NAME));
    detail.body_fields = names.filter((name) => name !== undefined);
  }
  if (budget.isExceeded) detail.truncated = true;
  return detail;
}

const NOTHING: AuditDetail = Object.freeze({});

/** A credential that does not hold. */
export interface RefusedCredential {
  /** The kind that recognized it: `jwt`, `api_key`; `undefined` where none did. */
  readonly authenticator?: string;
  /** `unknown`, `revoked`, `expired`, `invalid`, or `tenant`: its tenant is gone. */
  readonly failure: string;
  /** What is wrong with it. */
  readonly reason?: string;
  /** What the caller was told instead, where the credential holds and only the call does not. */
  readonly error?: { readonly code: string };
}

/** Without whom it belongs to, which the record says elsewhere. */
function sanitizeRefused(refused: RefusedCredential, budget: Budget): object {
  const { authenticator, failure, error, reason = error?.code } = refused;
  return {
    ...(authenticator !== undefined && { credential: authenticator }),
    failure,
    ...(reason !== undefined && { reason: budget.take(reason, MAX_VALUE) }),
  };
}

/** Values by name; a name that is repeated has a list. */
function sanitizeQuery(
  query: URLSearchParams | string,
  hidden: readonly string[],
  budget: Budget,
): Record<string, string | string[]> {
  if (query.toString().length > MAX_QUERY) budget.isExceeded = true;
  const parameters = new URLSearchParams(query.toString().slice(0, MAX_QUERY));
  const values = new Map<string, string | string[]>();
  let count = 0;
  for (const [rawName, rawValue] of parameters) {
    count += 1;
    const name = count > MAX_PARAMETERS ? undefined : budget.take(rawName, MAX_NAME);
    const value = name === undefined ? undefined : budget.take(hide(rawName, rawValue, hidden), MAX_VALUE);
    // As a member, `__proto__` would set the prototype in code that copies the object.
    if (name === undefined || value === undefined || name === '__proto__') {
      budget.isExceeded = true;
      continue;
    }
    const known = values.get(name);
    values.set(name, known === undefined ? value : [known, value].flat());
  }
  return Object.fromEntries(values);
}

/** What the route's own code names: its names are trusted, its texts may come from a client. */
function sanitizeChanges(changes: NonNullable<AuditExtra['changes']>, budget: Budget): object {
  const entries = Object.entries(changes);
  if (entries.length > MAX_CHANGES) budget.isExceeded = true;
  return Object.fromEntries(
    entries
      .slice(0, MAX_CHANGES)
      .map(([name, value]) => [name, typeof value === 'string' ? budget.take(value, MAX_VALUE) : value]),
  );
}

function hide(name: string, value: string, hidden: readonly string[]): string {
  if (value === '') return value;
  if (hidden.includes(name)) return REDACTED;
  const isSecret =
    isSecretName(name) ||
    QUERY_SECRET.test(name.toLowerCase().replace(/[^a-z]/g, '')) ||
    (name === 'state' && value.length >= LOGIN_STATE);
  // A plus that was not encoded has become a blank: of base64, it was a plus.
  const raw = value.slice(0, MAX_QUERY).replaceAll(' ', '+');
  return isSecret || (raw !== value && redactText(raw) !== raw) ? REDACTED : value;
}

/** Counts down the characters that a detail may hold. */
class Budget {
  isExceeded = false;
  #left: number;

  constructor(characters: number) {
    this.#left = characters;
  }

  /**
   * The text without control characters, cut to `most`, and without credentials in it; `undefined` when the budget is
   * spent.
   */
  take(text: string, most: number): string | undefined {
    if (this.#left <= 0) {
      this.isExceeded = true;
      return undefined;
    }
    if (text.length > most) this.isExceeded = true;
    const taken = clean(text, most);
    this.#left -= taken.length;
    return taken;
  }
}

function clean(text: string, most: number): string {
  // Credentials are looked for before the cut, which could leave half of one.
  return redactText(text.slice(0, MAX_QUERY))
    .slice(0, most)
    .replace(/\p{Cc}/gu, ' ')
    .toWellFormed();
}
