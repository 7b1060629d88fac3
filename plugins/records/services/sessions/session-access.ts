import { hash } from 'node:crypto';
import { redactText } from 'agent-gateway';
import { type Principal, SessionErrors, type SessionReader } from '../../contract.ts';
import { SESSION_LENGTHS } from '../../store/sessions.ts';

/** `.` and `..` are names like others: an id is a key of rows and never becomes a path. */
const SESSION_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** True for what can be the id of a session (decisions 1.6). It is stored, logged and audited, so a credential cannot be one. */
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

/** To whom a session belongs, as it is stored. */
export interface Owner {
  readonly identityId: string;
  readonly userId: string;
}

/** Characters of a long name that are kept before its hash. */
const KEPT = 200;

/**
 * A name as every database can keep it in its column. One that is too long, or has characters that PostgreSQL refuses, is cut and gets its
 * hash: different names stay different, or users would see each other's sessions. Pure.
 */
export function storedName(name: string): string {
  const isStorable = name.length <= SESSION_LENGTHS.owner && name.isWellFormed() && !name.includes('\0');
  if (isStorable) return name;
  const readable = name.slice(0, KEPT).toWellFormed().replaceAll('\0', '\ufffd');
  // As JSON: a hash of the text itself would take all halves of surrogate pairs for the same.
  return `${readable}~${hash('sha256', JSON.stringify(name), 'base64url')}`;
}

/** The owner of the sessions that a principal begins. Pure. */
export function ownerOf({ identityId, userId }: Principal): Owner {
  return { identityId: storedName(identityId), userId: storedName(userId) };
}

/** True when a turn of these belongs into a session of that owner: identity and user are the same. Pure. */
export function ownsSession(owner: Owner, principal: Owner): boolean {
  return owner.identityId === principal.identityId && owner.userId === principal.userId;
}

/** True when the reader may see a session of that owner: an identity sees its own, and only those of the user that it names. Pure. */
export function maySee(owner: Owner, { identityId, userId, isAdmin }: SessionReader): boolean {
  if (isAdmin) return true;
  return (
    owner.identityId === storedName(identityId) &&
    (userId === undefined || owner.userId === storedName(userId))
  );
}

/** An owner in few printable characters, to be shown beside a permit: it reveals no name. Pure. */
export function ownerMark({ identityId, userId }: Owner): string {
  return `${hash('sha256', identityId, 'base64url')} ${hash('sha256', userId, 'base64url')}`;
}

/** `maySee` for the owner behind a mark. Pure. */
export function maySeeMark(mark: string, { identityId, userId, isAdmin }: SessionReader): boolean {
  if (isAdmin) return true;
  const named = ownerMark({ identityId: storedName(identityId), userId: storedName(userId ?? '') });
  if (userId !== undefined) return mark === named;
  return mark.split(' ')[0] === named.split(' ')[0];
}
