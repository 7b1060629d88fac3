import { hash } from 'node:crypto';
import { type Call, type Identity, isStorableText, storableText } from 'agent-gateway';
import type { Principal } from './principal.ts';

/** To whom a record belongs, as it is stored. */
export interface Owner {
  readonly identityId: string;
  readonly userId: string;
}

/** The caller that asks for records. */
export interface OwnerReader {
  readonly identityId: string;
  /** `X-Svc-User-Id`, when it was sent: only this user's records then. */
  readonly userId?: string | undefined;
  /** Sees all records of the tenant. */
  readonly isAdmin: boolean;
}

/** Characters of the columns of an owner. */
export const OWNER_LENGTH = 255;
/** Characters of a long name that are kept before its hash. */
const KEPT = 200;

/**
 * A name as every database can keep it in its column. One that is too long, or has characters that PostgreSQL refuses,
 * is cut and gets its hash: different names stay different, or users would see each other's records. Pure.
 */
export function storedName(name: string): string {
  if (name.length <= OWNER_LENGTH && isStorableText(name)) return name;
  const readable = storableText(name, KEPT);
  // As JSON: a hash of the text itself would take all halves of surrogate pairs for the same.
  return `${readable}~${hash('sha256', JSON.stringify(name), 'base64url')}`;
}

/** The owner of what a principal begins. Pure. */
export function ownerOf({ identityId, userId }: Principal): Owner {
  return { identityId: storedName(identityId), userId: storedName(userId) };
}

/**
 * True when the reader may see a record of that owner: an identity sees its own records; if it names a user, only that
 * user's. Pure.
 */
export function maySee(owner: Owner, { identityId, userId, isAdmin }: OwnerReader): boolean {
  if (isAdmin) return true;
  return (
    owner.identityId === storedName(identityId) &&
    (userId === undefined || owner.userId === storedName(userId))
  );
}

/** What `maySee` lets through, as a condition on rows. Pure. */
export function visibleTo({ identityId, userId, isAdmin }: OwnerReader): Partial<Owner> {
  return {
    ...(isAdmin ? {} : { identityId: storedName(identityId) }),
    ...(userId === undefined ? {} : { userId: storedName(userId) }),
  };
}

/**
 * Conditions that together find what belongs to an identity, or to a user that an identity named, each row once;
 * without a name everything. For exports and erasures. The name as it is stored. Pure.
 */
export function ofOwner(name: string | undefined) {
  if (name === undefined) return [{}];
  return [{ identityId: name }, { userId: name, identityId: { $ne: name } }];
}

/**
 * True for identities that may see and use what belongs to any user of their own tenant: its `admin`s and its `owner`
 * (decisions 0.6, 1.6).
 */
export function isTenantAdmin({ roles }: Identity): boolean {
  return roles.includes('admin') || roles.includes('owner');
}

/**
 * Whose memories and profile a call is about: `X-Svc-User-Id`, or the credential's identity where it is absent or
 * empty.
 */
export function userOf({ userId, identity }: Pick<Call, 'userId' | 'identity'>): string {
  return userId || identity.id;
}

/** For whom a call works. */
export function principalOf(call: Pick<Call, 'userId' | 'identity' | 'tenant'>): Principal {
  return { tenantId: call.tenant.id, identityId: call.identity.id, userId: userOf(call) };
}

/** The caller: the credential's identity, and the user that it speaks for. */
export function readerOf({ identity, userId }: Pick<Call, 'identity' | 'userId'>): OwnerReader {
  return { identityId: identity.id, userId: userId || undefined, isAdmin: isTenantAdmin(identity) };
}
