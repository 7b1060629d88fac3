import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, type Database, forEachLimited, type Leases, type PersonalScope } from 'agent-gateway';
import { ofOwner, SessionErrors, storedName } from '../../contract.ts';
import { storedSessions } from '../../store/sessions.ts';
import { isMarkOf } from '../sessions/session-access.ts';
import { leaseKey } from '../sessions/session-lease.ts';

/** Milliseconds that turns get to end: longer than the lease of a process that died. */
const END_MS = 25_000;
/** Milliseconds between two checks. */
const LOOK_MS = 50;
/** Turns that are asked to end at one time. */
const PARALLEL = 8;

interface HaltParts {
  readonly leases: Pick<Leases, 'list' | 'revoke'>;
  readonly database: Pick<Database, 'forTenant'>;
  readonly clock: Clock;
}

/**
 * Aborts the turns in flight of a user, those of administrators in the user's sessions, or those of the whole tenant,
 * on all replicas: their chats end with `chat.aborted`, and store nothing. Resolves when they have ended and their
 * receipts are written. Throws `session.busy` when one does not end in 25 s, and the signal's reason.
 */
export async function haltTurns(
  { leases, database, clock }: HaltParts,
  { tenantId, userId }: PersonalScope,
  signal: AbortSignal,
): Promise<void> {
  const key = leaseKey(tenantId);
  const name = userId === undefined ? undefined : storedName(userId);
  const begun = await leases.list(key);
  const theirs = name === undefined ? begun : begun.filter(({ note }) => isMarkOf(note, name));
  let open: ReadonlySet<string> = new Set(theirs.map((held) => held.name));
  if (name !== undefined && open.size < begun.length) {
    const others = begun.map((held) => held.name).filter((session) => !open.has(session));
    // Whoever uses them now, what is said there repeats the user's words.
    for (const where of ofOwner(name))
      open = open.union(await storedSessions(database.forTenant(tenantId), others, where));
  }
  const until = clock.monotonic() + END_MS;
  while (open.size > 0) {
    // Repeated, since a caller that waited for one of these sessions may have begun its turn by now.
    await forEachLimited([...open], PARALLEL, (session) => leases.revoke(key, session));
    const held = new Set((await leases.list(key)).map((one) => one.name));
    open = open.intersection(held);
    if (open.size === 0) return;
    if (clock.monotonic() > until)
      throw SessionErrors.busy(`${open.size} turns in flight do not end`, {
        headers: { 'retry-after': '30' },
      });
    await pause(LOOK_MS, undefined, { signal });
  }
}
