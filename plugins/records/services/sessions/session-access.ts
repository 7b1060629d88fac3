import { hash } from 'node:crypto';
import { redactText } from 'agent-gateway';
import { type Owner, SessionErrors, type SessionReader, storedName } from '../../contract.ts';

/** `.` and `..` are names like others: an id is a key of rows and never becomes a path. */
const SESSION_ID = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * True for what can be the id of a session (decisions 1.6). It is stored, logged and audited, so a credential cannot be
 * one.
 */
export function isSessionId(text: string): boolean {
  return SESSION_ID.test(text) && redactText(text) === text;
}

/** @throws session.invalid-id */
export function requireSessionId(text: string): void {
  if (isSessionId(text)) return;
  throw SessionErrors.invalidId(
    'A session id has 1 to 128 characters of A-Z, a-z, 0-9, ".", "_" and "-", and is no credential',
    {
      errors: [{ pointer: '/headers/x-svc-session-id', message: 'is no session id' }],
      param: 'X-Svc-Session-Id',
    },
  );
}

/** True when a turn of these belongs into a session of that owner: identity and user are the same. Pure. */
export function ownsSession(owner: Owner, principal: Owner): boolean {
  return owner.identityId === principal.identityId && owner.userId === principal.userId;
}

/** An owner in few printable characters, to be stored as the note of a lease: it reveals no name. Pure. */
export function ownerMark({ identityId, userId }: Owner): string {
  return `${hash('sha256', identityId, 'base64url')} ${hash('sha256', userId, 'base64url')}`;
}

/** True for the mark of an owner whose identity or whose user has this name, as it is stored. Pure. */
export function isMarkOf(mark: string, name: string): boolean {
  return mark.split(' ').includes(hash('sha256', name, 'base64url'));
}

/** `maySee` for the owner behind a mark. Pure. */
export function maySeeMark(mark: string, { identityId, userId, isAdmin }: SessionReader): boolean {
  if (isAdmin) return true;
  const named = ownerMark({ identityId: storedName(identityId), userId: storedName(userId ?? '') });
  if (userId !== undefined) return mark === named;
  return mark.split(' ')[0] === named.split(' ')[0];
}
