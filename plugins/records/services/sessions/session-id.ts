import { SessionErrors } from '../../contract.ts';

/** `.` and `..` are names like others: an id is a key of rows and never becomes a path. */
const SESSION_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** True for what can be the id of a session (decisions 1.6). */
export function isSessionId(text: string): boolean {
  return SESSION_ID.test(text);
}

/** @throws session.invalid-id */
export function requireSessionId(text: string): void {
  if (isSessionId(text)) return;
  throw SessionErrors.invalidId('A session id has 1 to 128 characters of A-Z, a-z, 0-9, ".", "_" and "-"', {
    errors: [{ pointer: '/headers/x-svc-session-id', message: 'is no session id' }],
    param: 'X-Svc-Session-Id',
  });
}
