/** True when a statement failed because a unique key is taken, as the drivers say it themselves, past MikroORM. */
export function isTaken(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, errno } = cause as { code?: unknown; errno?: unknown };
    if (code === '23505' || errno === 1062) return true;
    if (typeof code === 'string' && code.startsWith('SQLITE_CONSTRAINT')) return true;
  }
  return false;
}
