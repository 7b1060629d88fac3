const MAX_LENGTH = 64;

/** The known name that somebody probably meant, or undefined when none is close (two typing errors; one in names below five letters). */
export function nearestName(wrong: string, known: readonly string[]): string | undefined {
  if (wrong.length > MAX_LENGTH) return undefined;
  let best: string | undefined;
  let bestDistance = wrong.length < 3 ? 1 : wrong.length < 5 ? 2 : 3;
  for (const name of known) {
    const distance = editDistance(spelling(wrong), spelling(name));
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** `maxSteps`, `max-steps` and `max_steps` are one name to whoever mixes up the conventions. */
function spelling(name: string): string {
  return name.replace(/[-_]/g, '').toLowerCase();
}

/** Levenshtein distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
