import { redactText } from '../observability/redact-text.ts';

/** Characters of `X-Svc-User-Id` at most: what the tables of users' things keep. */
const MAX_USER_ID = 255;

/**
 * What is wrong with the id of a user, which is stored as the owner of what the call makes; `undefined` for a good one.
 */
export function userIdProblem(id: string): string | undefined {
  // A shortened id could be another user's.
  if (id.length > MAX_USER_ID) return `must have ${MAX_USER_ID} characters at most`;
  if (/\p{Cc}/u.test(id)) return 'must not hold control characters';
  return redactText(id) === id ? undefined : 'must not hold a credential';
}
