import {
  type EntityMetadata,
  type EntityName,
  type FilterQuery,
  type IsolationLevel,
  type SessionContext,
  TransactionEventBroadcaster,
} from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import type { ControlledTransaction } from 'kysely';
import type { Clock } from '../base/clock.ts';
import { within } from '../base/deadline.ts';
import { withCommitHooks } from './after-commit.ts';
import { toConnectOptions } from './connect-options.ts';
import { DatabaseClock } from './database-clock.ts';
import type { Database, DatabaseOptions, EntityOwner, Registered, Registration } from './database-port.ts';
import type { Connect, ConnectOptions, FamilyDriver } from './drivers/driver.ts';
import { createPatientConnection, type PatientConnection } from './drivers/patient-connection.ts';
import { EntityRegistry } from './entity-registry.ts';
import { DatabaseDefect, DatabaseErrors } from './errors.ts';
import type { Family } from './family.ts';
import { assertNotNewer, migrate } from './migrate.ts';
import type { MigrationQueries } from './migration.ts';
import { withRetries } from './retry.ts';
import {
  APPLICATION_ROLE,
  createTableGuard,
  ensureApplicationRole,
  TENANT_SETTING,
  type TenantTable,
} from './row-level-security.ts';
import type { PlainWhere } from './rows/conditions.ts';
import { createPlainRows, type PageQuery, type PlainRows } from './rows/plain-rows.ts';
import type { Place } from './rows/statement-runner.ts';
import { assertNoDrift } from './schema/drift.ts';
import type { MigrationTarget } from './schema/locked.ts';
import { dropOwner, type OwnedData, ownedData } from './schema/owned-data.ts';
import { createNotes } from './schema/table-owners.ts';
import { asStartFailure } from './start-failures.ts';
import { TENANT_FILTER, TENANT_PROPERTY, Tenancies } from './tenancy.ts';
import { TenantEntityManager } from './tenant-entity-manager.ts';
import type { TransactionOptions } from './tenant-rules.ts';
import type { TenantSource } from './tenant-source.ts';
import { createTenantTables, type TenantTables } from './tenant-tables.ts';
import { createWriteGroups, type WriteGroups } from './write-groups.ts';

/** A statement that waits for a silent server would otherwise hold up the end of the process for its whole time. */
const CLOSE_TIMEOUT_MS = 2_000;
/** No tenant, and no transaction. */
const OF_ALL: Place = { transaction: undefined, session: undefined };

/** The database of all three families: what differs between them lies in their `FamilyDriver`. */
export class SqlDatabase implements Database, TenantSource {
  readonly family: Family;
  readonly clock: Clock;
  readonly tenancies: Tenancies;
  readonly plainRows: PlainRows;
  readonly groups: WriteGroups;
  readonly #driver: FamilyDriver;
  readonly #options: ConnectOptions;
  /** For migrations, which take longer than a statement of a request may. */
  readonly #patient: PatientConnection;
  readonly #role: string;
  readonly #tableGuard: ReturnType<typeof createTableGuard>;
  readonly #registry: EntityRegistry;
  readonly #tables: ReturnType<typeof createTenantTables>;
  /**
   * It has no listeners, but by it a driver distinguishes a transaction from a statement with a session (see
   * `postgres.ts`).
   */
  readonly #broadcaster: TransactionEventBroadcaster;
  /** Registrations run one after the other: they change what the ORM knows. */
  #registering: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  private constructor(
    { driver: family, applicationRole = APPLICATION_ROLE }: DatabaseOptions,
    driver: FamilyDriver,
    options: ConnectOptions,
    tenancies: Tenancies,
    connectFamily: Connect,
  ) {
    this.family = family;
    this.clock =
      driver.clockSql === undefined ? options.clock : new DatabaseClock(() => this.now(), options.clock);
    this.tenancies = tenancies;
    this.#driver = driver;
    this.#options = options;
    this.#patient = createPatientConnection(() =>
      connectFamily(family, { ...options, maxConnections: 1, statementTimeoutMs: 0 }),
    );
    this.#role = applicationRole;
    this.#tableGuard = createTableGuard(applicationRole);
    this.#registry = new EntityRegistry(driver.orm, tenancies);
    this.plainRows = createPlainRows(driver, family);
    this.groups = createWriteGroups(family, (tenantId, writes) =>
      this.forTenant(tenantId).writeTogether(writes),
    );
    this.#tables = createTenantTables({
      family,
      queries: () => this.#kysely,
      create: () => createNotes(this.#migrationTarget()),
    });
    this.#broadcaster = new TransactionEventBroadcaster(driver.orm.em);
  }

  /** Connects; see `openDatabase`. */
  static async open(options: DatabaseOptions, connectFamily: Connect): Promise<SqlDatabase> {
    const tenancies = new Tenancies();
    const connectOptions = toConnectOptions(options, tenancies);
    const driver = await connectFamily(options.driver, connectOptions);
    const database = new SqlDatabase(options, driver, connectOptions, tenancies, connectFamily);
    try {
      if (options.driver === 'postgres') await ensureApplicationRole(database.#kysely, database.#role);
      if (database.clock instanceof DatabaseClock) await database.clock.renew();
      return database;
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  get tenantTables(): TenantTables {
    this.#assertOpen();
    return this.#tables.tables;
  }

  /** Connects, and closes again; see `reachDatabase`. */
  static async reach(
    options: DatabaseOptions,
    connectFamily: Connect,
    registrations: readonly Registration[],
  ): Promise<void> {
    const { driver: family } = options;
    const { orm } = await connectFamily(family, toConnectOptions(options, new Tenancies()));
    try {
      const kysely = orm.em.getKysely() as MigrationQueries;
      for (const registration of registrations) await assertNotNewer({ family, kysely }, registration);
    } finally {
      await orm.close(true);
    }
  }

  get isMySql(): boolean {
    return this.family === 'mysql';
  }

  async register(registration: Registration): Promise<Registered> {
    this.#assertOpen();
    const turn = this.#registering.then(() => this.#register(registration));
    this.#registering = turn.catch(() => {}); // the caller gets the error; the next one starts afresh
    return turn;
  }

  announce(owners: readonly EntityOwner[]): void {
    this.#assertOpen();
    this.#registry.announce(owners);
  }

  forTenant(tenantId: string): TenantEntityManager {
    if (tenantId === '') throw new DatabaseDefect('foreign-tenant', 'An entity manager needs a tenant');
    return new TenantEntityManager(tenantId, this);
  }

  system(): SqlEntityManager {
    this.#assertOpen();
    return this.#driver.orm.em.fork();
  }

  async pageOfAll<E extends object>(
    entity: EntityName<E>,
    where: PlainWhere<NoInfer<E>>,
    query: PageQuery<NoInfer<E>>,
  ): Promise<[E[], number]> {
    this.#assertOpen();
    return this.plainRows.page(this.metadata(entity), {}, where, query as never, OF_ALL) as never;
  }

  async eraseOfAll<E extends object>(
    entity: EntityName<E>,
    where: PlainWhere<NoInfer<E>>,
    most: number,
  ): Promise<number> {
    this.#assertOpen();
    const erased = await this.plainRows.erase(this.metadata(entity), {}, where, OF_ALL, most);
    return erased ?? this.system().nativeDelete(entity, where as FilterQuery<NoInfer<E>>);
  }

  fork(tenantId: string, transaction?: ControlledTransaction<unknown>): SqlEntityManager {
    this.#assertOpen();
    const session = this.#session(tenantId);
    const em = this.#driver.orm.em.fork(session === undefined ? {} : { session });
    em.setFilterParams(TENANT_FILTER, { [TENANT_PROPERTY]: tenantId });
    if (transaction !== undefined) em.setTransactionContext(transaction);
    return em;
  }

  metadata<E extends object>(entity: EntityName<E>): EntityMetadata<E> {
    return this.#driver.orm.getMetadata().get(entity);
  }

  place(tenantId: string, transaction: ControlledTransaction<unknown> | undefined): Place {
    this.#assertOpen();
    return { transaction, session: transaction === undefined ? this.#session(tenantId) : undefined };
  }

  begin<T>(
    tenantId: string,
    isolation: IsolationLevel | undefined,
    work: (transaction: ControlledTransaction<unknown>) => Promise<T>,
  ): Promise<T> {
    this.#assertOpen();
    return withCommitHooks(() =>
      this.#driver.orm.driver.getConnection().transactional(work, {
        sessionContext: this.#session(tenantId),
        isolationLevel: isolation,
        eventBroadcaster: this.#broadcaster,
      }),
    );
  }

  transaction<T>(work: (em: SqlEntityManager) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    const { retries = 0, isolation } = options;
    return withRetries(retries, () =>
      withCommitHooks(() => this.system().transactional(work, { clear: true, isolationLevel: isolation })),
    );
  }

  async now(within?: SqlEntityManager | TenantEntityManager): Promise<number> {
    const { clockSql } = this.#driver;
    if (clockSql === undefined) return this.#options.clock.now();
    const em = within instanceof TenantEntityManager ? within.unitOfWork(this) : (within ?? this.system());
    const [row] = await em.execute<{ now: unknown }[]>(`select ${clockSql} as now`);
    return Math.floor(Number(row?.now));
  }

  async ping(timeoutMs: number): Promise<void> {
    const answer = async () => {
      this.#assertOpen();
      await this.#driver.probe?.();
      await this.#driver.orm.driver.getConnection().execute('select 1');
      if (this.family === 'postgres') await this.#tableGuard.look(this.#kysely);
    };
    try {
      await within(timeoutMs, 'a ping of the database', answer());
    } catch (cause) {
      throw DatabaseErrors.unavailable(undefined, { cause });
    }
    this.#tableGuard.assertKept();
    this.#options.disk.assertWritable();
  }

  async schemaDrift(): Promise<string> {
    const sql = await this.#driver.orm.schema.getUpdateSchemaSQL({
      dropTables: false,
      safe: false,
      wrap: false,
    });
    return sql.trim();
  }

  ownedData(owner: string): Promise<OwnedData> {
    this.#assertOpen();
    return ownedData(this.family, this.#kysely, owner);
  }

  dropOwner(owner: string): Promise<void> {
    this.#assertOpen();
    return dropOwner(this.#migrationTarget(), owner);
  }

  close(): Promise<void> {
    const end = async () => {
      await this.#patient.close();
      await this.#driver.release?.();
      await this.#driver.orm.close(true);
    };
    this.#closing ??= within(CLOSE_TIMEOUT_MS, 'closing the database', end()).catch((err) => {
      // A connection to a server that is away cannot be closed in order; the sockets are gone with the process.
      this.#options.log.warn({ err }, 'the database connections did not close in order');
    });
    return this.#closing;
  }

  /** Role and tenant, for row-level security. */
  #session(tenantId: string): SessionContext | undefined {
    if (this.family !== 'postgres') return undefined;
    return { role: this.#role, variables: { [TENANT_SETTING]: tenantId } };
  }

  /** MikroORM would reconnect on its own. */
  #assertOpen(): void {
    if (this.#closing !== undefined) throw DatabaseErrors.unavailable('The database is closed');
  }

  get #kysely() {
    return this.#driver.orm.driver.getConnection().getClient();
  }

  async #register({ owner, formerly = [], entities, migrations }: Registration): Promise<Registered> {
    const lease = this.#registry.add(owner, entities, formerly);
    try {
      const target = this.#migrationTarget();
      await migrate(target, { owner, formerly, migrations });
      await assertNoDrift(target, { owner, metadata: lease.metadata, migrations });
      if (this.family === 'postgres') await this.#guard(target, lease.metadata);
      await this.#noteTables(owner, lease.metadata);
    } catch (error) {
      lease.release();
      throw asStartFailure(this.family, this.#options, error);
    }
    return lease;
  }

  /** Notes the tables whose rows belong to tenants, so that they are known when their owner is not here any more. */
  async #noteTables(owner: string, metadata: readonly EntityMetadata[]): Promise<void> {
    const noted = metadata.flatMap(({ className, tableName: name, props }) => {
      const { tenancy, isImpersonal } = this.tenancies.get(className);
      if (tenancy === 'owned') return [{ name, owner, isImpersonal }];
      // Rows that their owner declares as shared need no `PersonalData`, but where they name a tenant they do not
      // outlive it.
      const namesTenant = props.some(({ fieldNames }) => fieldNames?.[0] === 'tenant_id');
      return tenancy === 'shared' && namesTenant ? [{ name, owner, isImpersonal: true }] : [];
    });
    await this.#tables.note(noted);
  }

  /** Puts the tables that belong to tenants under row-level security. */
  async #guard(target: MigrationTarget, metadata: readonly EntityMetadata[]): Promise<void> {
    const tables = metadata.flatMap((meta): TenantTable[] => {
      const { property, tenancy } = this.tenancies.get(meta.className);
      const column = property === undefined ? undefined : meta.properties[property]?.fieldNames[0];
      return column === undefined ? [] : [{ name: meta.tableName, column, readOnly: tenancy === 'self' }];
    });
    await this.#tableGuard.guard(target, tables);
  }

  #migrationTarget(): MigrationTarget {
    return {
      family: this.family,
      kysely: this.#kysely,
      platform: this.#driver.orm.driver.getPlatform(),
      tableOptions: this.#driver.tableOptions,
      log: this.#options.log,
      clock: this.#options.clock,
      patiently: (work) => (this.family === 'sqlite' ? work(this.#kysely) : this.#patient.lend(work)),
    };
  }
}
