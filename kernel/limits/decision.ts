/** What a rate limit says about one request; the `X-RateLimit-*` headers are read from it. */
export interface Decision {
  readonly allowed: boolean;
  /** Requests a minute. */
  readonly limit: number;
  /** Requests that would still be admitted now. */
  readonly remaining: number;
}

/** The decision about a request that is the `used`-th of its window; one beyond the limit is refused. */
export function decide(used: number, limit: number): Decision {
  return used <= limit
    ? { allowed: true, limit, remaining: limit - used }
    : { allowed: false, limit, remaining: 0 };
}
