/** How deep causes are looked into: whoever sets them can make a ring of them. */
const MAX_CAUSES = 10;

/** What was thrown, and its causes from the outside in; nothing of what is no error. Ten at most. */
export function* causesOf(failure: unknown): Generator<Error, void> {
  let cause = failure;
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth += 1) {
    yield cause;
    cause = cause.cause;
  }
}

/** The words of what was thrown, which may be anything. Never throws. */
export function messageOf(failure: unknown): string {
  try {
    return String(failure instanceof Error ? failure.message : failure);
  } catch {
    return 'something that has no text was thrown';
  }
}
