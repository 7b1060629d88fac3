/** Makes a text of a provider fit for logs and errors. */
export type Redact = (text: string) => string;

const MARK = '[redacted]';
/** A shorter "key" is a placeholder such as `x`; replacing it would only garble the text. */
const SHORTEST_SECRET = 4;
const KEY_LIKE = /\b(?:sk|pk|rk|hk)[-_][A-Za-z0-9_*.-]{4,}|\bBearer\s+\S+/gi;

/**
 * A function that takes the given secrets, and whatever else looks like a key, out of a text, turns control characters
 * into spaces, and caps its length. Providers like to repeat the credential they refuse.
 */
export function createRedact(secrets: readonly string[], maxChars = 300): Redact {
  const known = secrets.filter((secret) => secret.length >= SHORTEST_SECRET);
  return (text) => {
    let clean = text;
    for (const secret of known) clean = clean.replaceAll(secret, MARK);
    clean = clean
      .replace(KEY_LIKE, MARK)
      .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
      .trim();
    return clean.length <= maxChars ? clean : `${clean.slice(0, maxChars - 1).toWellFormed()}…`;
  };
}
