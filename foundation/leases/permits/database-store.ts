import { type RawBuilder, sql } from 'kysely';
import type { LockSql } from '../locks/lock-sql.ts';
import type { PermitStore, Place, Renewal, Ticket, TicketPlace } from './permit-store.ts';
import { addPlaces } from './places.ts';
import { isTaken } from './unique-conflict.ts';

/** Looks for a free place before "full" is answered although one may just have become free. */
const ROUNDS = 8;

/**
 * Places in a table of the database (permit-tables.ts). The statement that grants is a single `update` of one row that is free, so that of
 * several processes one succeeds, and a place has one holder because it is one row. In the usual case it is the only round trip.
 */
export function createDatabaseStore(db: LockSql): PermitStore {
  const { now } = db;
  const isMySql = db.family === 'mysql';
  const after = (milliseconds: number) => sql<number>`${now()} + ${milliseconds * 1_000}`;
  const at = ({ key, name }: Place) => sql`permit_key = ${key} and name = ${name}`;
  const of = (place: Ticket) => sql`${at(place)} and ticket = ${place.ticket}`;

  async function changes(update: RawBuilder<unknown>): Promise<boolean> {
    return (await db.run(update)).changed > 0;
  }

  const holder = ({ name, ticket, note, lease }: TicketPlace) =>
    sql`name = ${name}, ticket = ${ticket}, note = ${note}, revoked = 0, expires_at = ${after(lease)}`;

  /** Takes the first free place below the limit. Where the name has a row already, nothing. */
  async function takeFree(place: TicketPlace): Promise<boolean> {
    const { key, limit } = place;
    const free = sql`permit_key = ${key} and slot < ${limit} and expires_at <= ${now()}`;
    // MySQL does not let an update read its own table; there the unique key of names alone refuses.
    if (isMySql)
      return changes(sql`update kernel_permits set ${holder(place)} where ${free} order by slot limit 1`);
    // Places that others take at this moment are passed over, not waited for.
    const skip = db.family === 'postgres' ? sql`for update skip locked` : sql``;
    return changes(sql`update kernel_permits set ${holder(place)}
      where permit_key = ${key} and slot = (select slot from kernel_permits where ${free}
        and not exists (select 1 from kernel_permits same where same.permit_key = ${key} and same.name = ${place.name})
        order by slot limit 1 ${skip})`);
  }

  /** A dead holder of the same name does not keep it. */
  const forgetDead = (place: TicketPlace) =>
    changes(sql`update kernel_permits set name = null where ${at(place)} and expires_at <= ${now()}`);

  async function look({ key, name, limit }: TicketPlace) {
    const isLive = sql`expires_at > ${now()}`;
    const counted = (condition: RawBuilder<unknown>) => sql`sum(case when ${condition} then 1 else 0 end)`;
    const { rows } = await db.run(sql<Record<'places' | 'taken' | 'held' | 'left_over', unknown>>`
      select count(*) as places, ${counted(isLive)} as taken,
        ${counted(sql`name = ${name} and ${isLive}`)} as held,
        ${counted(sql`name = ${name} and not ${isLive}`)} as left_over
      from kernel_permits where permit_key = ${key} and (slot < ${limit} or name = ${name})`);
    const row = rows[0]!;
    return {
      places: Number(row.places),
      taken: Number(row.taken),
      isHeld: Number(row.held) > 0,
      isLeft: Number(row.left_over) > 0,
    };
  }

  async function isRevoked(place: Ticket): Promise<boolean> {
    const { rows } = await db.run(
      sql<{ revoked: unknown }>`select revoked from kernel_permits where ${of(place)}`,
    );
    return Number(rows[0]?.revoked) === 1;
  }

  const holderOf = async (place: Place) => {
    const { rows } = await db.run(sql<{
      ticket: string;
      note: string;
    }>`select ticket, note from kernel_permits
      where ${at(place)} and expires_at > ${now()}`);
    return rows[0];
  };

  return {
    isLeased: true,

    async take(place) {
      for (let round = 0; round < ROUNDS; round += 1) {
        const isGranted = await takeFree(place).catch((error: unknown) => {
          if (isTaken(error)) return false;
          throw error;
        });
        if (isGranted) return 'granted';
        const seen = await look(place);
        if (seen.isHeld) return 'held';
        if (seen.taken >= place.limit) return 'full';
        if (seen.isLeft) await forgetDead(place);
        if (seen.places < place.limit) await addPlaces(db, place);
      }
      return 'full';
    },

    async renew(place): Promise<Renewal> {
      const isHeld = await changes(sql`update kernel_permits set expires_at = ${after(place.lease)}
        where ${of(place)} and expires_at > ${now()}`);
      if (!isHeld) return 'gone';
      return (await isRevoked(place)) ? 'revoked' : 'held';
    },

    async release(place) {
      await db.run(sql`update kernel_permits
        set name = null, ticket = '', note = '', revoked = 0, expires_at = ${now()} where ${of(place)}`);
    },

    async revoke(place) {
      const found = await holderOf(place);
      if (found === undefined) return undefined;
      const isMarked = await changes(sql`update kernel_permits set revoked = 1
        where ${of({ ...place, ticket: found.ticket })} and expires_at > ${now()} and revoked = 0`);
      // Not marked: revoked before, or released this moment.
      return isMarked || (await isRevoked({ ...place, ticket: found.ticket })) ? found.ticket : undefined;
    },

    async find(place) {
      const found = await holderOf(place);
      return found && { note: found.note };
    },

    async close() {},
  };
}
