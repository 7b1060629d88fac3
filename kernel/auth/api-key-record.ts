/** An API key as everybody but its owner sees it: neither the raw value nor its hash (specification 1, API key). */
export interface ApiKeyRecord {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  /** The first 8 characters of the raw value. */
  readonly prefix: string;
  readonly roles: readonly string[];
  /** As listed at creation; an empty list is a legacy key. */
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  /** Identity that made it; `null` when nobody did (bootstrap by the operator's token is that token). */
  readonly createdBy: string | null;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** Written at most once a minute. */
  readonly lastUsedAt: Date | null;
}

/** A key just made, with its raw value: the only time that anybody sees it. */
export interface NewApiKey {
  readonly record: ApiKeyRecord;
  /** `hk_…`; belongs into one response and nowhere else. */
  readonly key: string;
}

/** What a new key is to be. Validated, and checked with `requireGrant`, by the route. */
export interface ApiKeySettings {
  readonly tenantId: string;
  readonly name: string;
  readonly roles: readonly string[];
  /** An empty list is a legacy key. */
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
  /** Identity of the maker. */
  readonly createdBy: string | null;
}
