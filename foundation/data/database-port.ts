import type { EntityName } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import type { Family } from './family.ts';
import type { Migration, MovedMigration } from './migration.ts';
import type { PlainWhere } from './rows/conditions.ts';
import type { PageQuery } from './rows/plain-rows.ts';
import type { OwnedData } from './schema/owned-data.ts';
import type { EntityRegistration } from './tenancy.ts';
import type { TenantEntityManager } from './tenant-entity-manager.ts';
import type { TransactionOptions } from './tenant-rules.ts';
import type { TenantTables } from './tenant-tables.ts';

/** Where the database is and how it is used. */
export interface DatabaseOptions {
  readonly driver: Family;
  /** Connection URL of PostgreSQL or MySQL (`DATABASE_URL`). */
  readonly url?: string;
  /**
   * Path of the SQLite file; its folder is created. `:memory:` (the default) lives as long as the process, and holds 1
   * GiB at most.
   */
  readonly file?: string;
  /** The variable that says where it is, for the operator; default `DATABASE_URL` of a server, of a file none. */
  readonly setBy?: string;
  /** Whether a commit on SQLite waits for the disk; default `normal`: no, and a power cut may lose the last ones. */
  readonly synchronous?: 'normal' | 'full';
  readonly log: Logger;
  readonly clock: Clock;
  /** Most connections to a server at one time; default 10. SQLite has one. */
  readonly pool?: { readonly max?: number };
  /** Reject transactions that wait for anything but the database; for tests. Default false. */
  readonly guardTransactions?: boolean;
  /** Milliseconds that one statement may take on a server; default 30,000. Migrations have no limit. */
  readonly statementTimeoutMs?: number;
  /**
   * PostgreSQL: the role in which tenant-bound work runs; default `agent_gateway_app`. Deployments that share a server
   * and do not trust each other need a role each, because who may take the role may read its tables.
   */
  readonly applicationRole?: string;
}

/** What an owner (the kernel or a plugin) keeps in the database. */
export interface Registration {
  /** Name of the plugin, or `kernel`. */
  readonly owner: string;
  /**
   * Names that the owner had before: what they have in the database, its parts (`<name>.<part>`) too, is taken over.
   * Default: none.
   */
  readonly formerly?: readonly string[];
  readonly entities: readonly EntityRegistration[];
  readonly migrations: readonly (Migration | MovedMigration)[];
}

/** An owner, as a plugin is. */
export interface EntityOwner {
  readonly name: string;
  readonly entities?: readonly EntityRegistration[];
}

/** An owner's entities in use. */
export interface Registered {
  /**
   * Says that this generation of the owner's code is over. When another has replaced it, its entities are forgotten;
   * the last one stays known, with its tables. Calling again changes nothing.
   */
  release(): void;
}

/** The gateway's database. */
export interface Database {
  readonly family: Family;
  /**
   * Makes an owner's entities known, brings its tables to their newest migration, and puts tenant-owned tables under
   * row-level security (PostgreSQL). At start or at any time later; again for an owner that was stopped and comes back.
   * Entities of a new generation of the owner's code are known together with those of the old one, until that is
   * released.
   *
   * @throws DatabaseDefect for an entity that is neither tenant-owned nor declared otherwise, or whose name or table is
   * taken
   * @throws DatabaseStartError when a migration fails, or has changed since it was applied; when the tables are not as
   * the entities need them; when the disk is full
   */
  register(registration: Registration): Promise<Registered>;
  /**
   * Makes the entities of several owners known ahead of `register`, in one go: the ORM goes through all that it knows
   * each time. What is wrong with one of them is left for its `register` to say.
   */
  announce(owners: readonly EntityOwner[]): void;
  /** An entity manager that sees one tenant. Costs nothing until it is used. */
  forTenant(tenantId: string): TenantEntityManager;
  /**
   * A fresh entity manager of MikroORM that sees ALL tenants. For the kernel and for governance that has checked its
   * scope; never for what a request of a tenant asks.
   */
  system(): SqlEntityManager;
  /** Like `forTenant(…).page`, over all tenants; the same warning as for `system`. */
  pageOfAll<E extends object>(
    entity: EntityName<E>,
    where: PlainWhere<NoInfer<E>>,
    query: PageQuery<NoInfer<E>>,
  ): Promise<[E[], number]>;
  /** Like `forTenant(…).erase` with `most`, over all tenants; the same warning as for `system`. */
  eraseOfAll<E extends object>(
    entity: EntityName<E>,
    where: PlainWhere<NoInfer<E>>,
    most: number,
  ): Promise<number>;
  /** Like `forTenant(…).transaction`, over all tenants; the same warning as for `system`. */
  transaction<T>(work: (em: SqlEntityManager) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** The tables whose rows belong to tenants, over all tenants; the same warning as for `system`. */
  readonly tenantTables: TenantTables;
  /**
   * The clock that all processes over the database have in common, for what they store and compare: its server's, asked
   * every few seconds. Over a file, whose processes are on one machine, it is this process's own.
   */
  readonly clock: Clock;
  /**
   * Asks for the milliseconds since the epoch on the database's own clock: leases are measured with it.
   *
   * @param within asks on the connection of this entity manager's transaction
   */
  now(within?: SqlEntityManager | TenantEntityManager): Promise<number>;
  /**
   * Resolves when the database answers; rejects with `database.unavailable` when it does not within `timeoutMs`, or
   * when its disk refused the last write.
   */
  ping(timeoutMs: number): Promise<void>;
  /** The SQL that would make the tables equal to the registered entities; empty when they are. For tests. */
  schemaDrift(): Promise<string>;
  /**
   * What an owner, and its parts, have in the database, whether the owner is here or gone. For the operator's commands.
   */
  ownedData(owner: string): Promise<OwnedData>;
  /**
   * Drops the tables of `ownedData`, and forgets the owner's migrations: when it comes back it begins from scratch. All
   * or nothing, but on MySQL, where it can be called again.
   *
   * @throws the database's refusal where a table of another owner refers to one of these
   */
  dropOwner(owner: string): Promise<void>;
  /** Closes all connections. Calling again changes nothing. */
  close(): Promise<void>;
}
