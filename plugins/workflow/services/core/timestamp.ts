/** A moment as it is told: RFC 3339, UTC, with milliseconds. `ms` are milliseconds since the epoch. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}

/** The same for a moment that may not have come. */
export function nullableTimestamp(ms: number | null): string | null {
  return ms === null ? null : timestamp(ms);
}
