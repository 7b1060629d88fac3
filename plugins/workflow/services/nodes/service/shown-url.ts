import { isSensitiveName, type Redactor } from '../../views/redaction.ts';

/** Characters of a URL that is shown at most. */
const MAX_SHOWN = 1_000;
const HIDDEN = '[REDACTED]';

/** A URL for histories: without user, password and fragment, with credentials in its query taken out, 1,000 characters at most. Pure. */
export function shownUrl(url: URL, redactor: Pick<Redactor, 'redact'>): string {
  const query = [...url.searchParams].map(([name, value]) =>
    isSensitiveName(name)
      ? `${encodeURIComponent(name)}=${HIDDEN}`
      : `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  );
  const text = redactor.redact(
    `${url.origin}${url.pathname}${query.length === 0 ? '' : `?${query.join('&')}`}`,
  );
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN - 1).toWellFormed()}…`;
}
