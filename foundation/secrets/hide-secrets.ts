/** Hiding shorter values would take ordinary words out of texts. */
const LEAST_HIDDEN = 8;
const HIDDEN = '[REDACTED:secret]';

/**
 * Makes the function that takes secrets out of what a server says that has got them: as they are, and as JSON writes
 * them. Those of less than 8 characters stay.
 */
export function hideSecrets(secrets: Iterable<string>): (text: string) => string {
  const long = [...secrets].filter(({ length }) => length >= LEAST_HIDDEN);
  const hidden = new Set(long.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]));
  return (text) => [...hidden].reduce((left, secret) => left.replaceAll(secret, HIDDEN), text);
}
