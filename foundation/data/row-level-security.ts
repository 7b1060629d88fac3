import { sql } from 'kysely';
import type { Logger } from '../observability/logger.ts';
import { DatabaseErrors, DatabaseStartError } from './errors.ts';
import type { MigrationQueries } from './migration.ts';
import { locked, type MigrationTarget } from './schema/locked.ts';

/**
 * The default name of the role in which PostgreSQL runs everything that is bound to a tenant. It owns nothing, cannot
 * log in, and is subject to the policies. Roles belong to the whole server; rights come per table.
 */
export const APPLICATION_ROLE = 'agent_gateway_app';
/** The setting that names the tenant of a transaction. */
export const TENANT_SETTING = 'svc.tenant_id';

const TENANT_POLICY = 'tenant_rows';
const SYSTEM_POLICY = 'system_rows';
/** Attempts to create the role: catalogue rows of roles are shared, and simultaneous changes of one of them fail. */
const ROLE_ATTEMPTS = 10;

/** A table whose rows belong to tenants. */
export interface TenantTable {
  readonly name: string;
  /** The column with the tenant's id. */
  readonly column: string;
  /** True where a tenant may only read. */
  readonly readOnly: boolean;
}

/**
 * Makes sure that the application role exists, is harmless, and may be taken by the connecting role. Any number of
 * processes may do it at once.
 *
 * @throws DatabaseStartError with the statements for the database's administrator
 */
export async function ensureApplicationRole(queries: MigrationQueries, name: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const role = await roleState(queries, name);
    if (role.dangerous) {
      throw new DatabaseStartError(
        `The role ${name} (SVC_DATABASE_ROLE) must be neither superuser nor allowed to bypass row security`,
      );
    }
    if (role.user === name) {
      throw new DatabaseStartError(
        `The role ${name} (SVC_DATABASE_ROLE) is the user that connects: it owns the tables, and sees the rows of all tenants. ` +
          'Name another one, which the gateway makes where it may',
      );
    }
    if (role.usable) return;
    try {
      if (!role.exists) await sql`create role ${sql.id(name)} nologin`.execute(queries);
      await sql`grant ${sql.id(name)} to current_user`.execute(queries);
    } catch (error) {
      // Another process may have been faster; when the role is usable now, nothing is wrong.
      if (attempt < ROLE_ATTEMPTS) continue;
      throw new DatabaseStartError(
        `The role ${name} (SVC_DATABASE_ROLE) is missing or cannot be used, and ${role.user} may not create or grant it. Let an administrator run: ` +
          `create role "${name}" nologin; grant "${name}" to "${role.user}";`,
        { cause: error },
      );
    }
  }
}

interface RoleState {
  readonly user: string;
  readonly exists: boolean;
  readonly dangerous: boolean;
  readonly usable: boolean;
}

/** Since PostgreSQL 16 a member, the role's creator included, may take the role only where that was granted. */
const TAKES_ROLE = sql`case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end`;

async function roleState(queries: MigrationQueries, name: string): Promise<RoleState> {
  const { rows } = await sql<RoleState>`
    select current_user as user, role.oid is not null as exists,
      coalesce(role.rolsuper or role.rolbypassrls, false) as dangerous,
      coalesce(pg_has_role(current_user, role.oid, ${TAKES_ROLE}), false) as usable
    from (select 1) as one left join pg_roles as role on role.rolname = ${sql.lit(name)}`.execute(queries);
  return rows[0] as RoleState;
}

/** Whether a row `class` of pg_class is one of the tables, of which there is at least one. */
function isAmong(tables: readonly TenantTable[]) {
  const names = sql.join(tables.map(({ name }) => sql.lit(name)));
  return sql`class.relnamespace = quote_ident(current_schema())::regnamespace and class.relname in (${names})`;
}

/** Those of the tables that are not fully guarded by row-level security yet. */
async function unguarded(
  queries: MigrationQueries,
  tables: readonly TenantTable[],
  applicationRole: string,
): Promise<readonly TenantTable[]> {
  if (tables.length === 0) return [];
  const role = sql.lit(applicationRole);
  const { rows } = await sql<{ name: string; writes: boolean }>`
    select class.relname as name, has_table_privilege(${role}, class.oid, 'insert')
      and has_table_privilege(${role}, class.oid, 'update') and has_table_privilege(${role}, class.oid, 'delete') as writes
    from pg_class as class
    where ${isAmong(tables)}
      and class.relrowsecurity and class.relforcerowsecurity
      and has_table_privilege(${role}, class.oid, 'select')
      and exists (select 1 from pg_policy as policy where policy.polrelid = class.oid
        and policy.polname = ${sql.lit(TENANT_POLICY)} and policy.polroles = array(select oid from pg_roles where rolname = ${role}))
      and exists (select 1 from pg_policy as policy where policy.polrelid = class.oid
        and policy.polname = ${sql.lit(SYSTEM_POLICY)})`.execute(queries);
  const guarded = new Map(rows.map((row) => [row.name, row]));
  return tables.filter(({ name, readOnly }) => guarded.get(name)?.writes !== !readOnly);
}

/** The roles other than this one that were guarded for: of another `SVC_DATABASE_ROLE`, now or before. */
async function otherRoles(
  queries: MigrationQueries,
  tables: readonly TenantTable[],
  applicationRole: string,
): Promise<readonly string[]> {
  if (tables.length === 0) return [];
  const { rows } = await sql<{ name: string }>`
    select distinct role.rolname as name
    from pg_policy as policy join pg_class as class on class.oid = policy.polrelid
      join pg_roles as role on role.oid = any(policy.polroles)
    where ${isAmong(tables)}
      and policy.polname = ${sql.lit(TENANT_POLICY)} and role.rolname <> ${sql.lit(applicationRole)}`.execute(
    queries,
  );
  return rows.map(({ name }) => name);
}

/**
 * Puts tables under row-level security, for the owner too (`force`): the application role sees and writes the rows of
 * the tenant in `svc.tenant_id` and none without it; the owner, as which migrations and governance work, sees all.
 *
 * Another role that had the tables loses all rights on them: it was given up, perhaps since others may take it. A
 * replica that still uses it is refused by the database, where without its policy it would find all tables empty.
 */
async function guardTables(
  queries: MigrationQueries,
  tables: readonly TenantTable[],
  applicationRole: string,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  const role = sql.id(applicationRole);
  const others = await otherRoles(queries, tables, applicationRole);
  if (others.length > 0) {
    const what = { role: applicationRole, others, tables: tables.map(({ name }) => name) };
    log.warn(what, 'tables go over to the SVC_DATABASE_ROLE of this replica: it must be the same on all');
  }
  const { rows } = await sql<{ schema: string }>`select current_schema() as schema`.execute(queries);
  await sql`grant usage on schema ${sql.id(rows[0]?.schema ?? 'public')} to ${role}`.execute(queries);
  for (const { name, column, readOnly } of tables) {
    const table = sql.id(name);
    const own = sql`${sql.id(column)} = current_setting(${sql.lit(TENANT_SETTING)}, true)`;
    const check = readOnly ? sql`` : sql`with check (${own})`;
    const statements = [
      sql`alter table ${table} enable row level security`,
      sql`alter table ${table} force row level security`,
      sql`drop policy if exists ${sql.id(TENANT_POLICY)} on ${table}`,
      sql`drop policy if exists ${sql.id(SYSTEM_POLICY)} on ${table}`,
      sql`create policy ${sql.id(TENANT_POLICY)} on ${table} for ${sql.raw(readOnly ? 'select' : 'all')} to ${role} using (${own}) ${check}`,
      sql`create policy ${sql.id(SYSTEM_POLICY)} on ${table} to current_user using (true) with check (true)`,
      ...[applicationRole, ...others].map((name) => sql`revoke all on ${table} from ${sql.id(name)}`),
      sql`grant ${sql.raw(readOnly ? 'select' : 'select, insert, update, delete')} on ${table} to ${role}`,
    ];
    for (const statement of statements) await statement.execute(queries);
  }
}

/** Row-level security for the tables that a process registers, with its application role. */
export function createTableGuard(role: string) {
  /** One of the tables that this process has had. */
  let known: string | undefined;
  let isLost = false;

  /** Finds out whether the tables are still this role's. */
  async function look(queries: MigrationQueries): Promise<void> {
    if (known === undefined) return;
    const { rows } = await sql<{ kept: boolean | null }>`
      select has_table_privilege(${sql.lit(role)}, to_regclass(${sql.lit(known)}), 'select') as kept`.execute(
      queries,
    );
    isLost = rows[0]?.kept === false;
  }

  /** @throws database.unavailable where another process had taken the tables: no tenant can be served from here */
  function assertKept(): void {
    if (!isLost) return;
    throw DatabaseErrors.unavailable(
      `The role ${role} (SVC_DATABASE_ROLE) has no rights on the tables any more: another replica was started with another role.`,
    );
  }

  return {
    /**
     * Guards those of the tables that are not guarded for this role. The first call takes them from another role; later
     * ones do not, where one has taken the tables since: of two that both have some, neither could serve.
     *
     * @throws database.unavailable as `assertKept`
     */
    async guard(target: MigrationTarget, tables: readonly TenantTable[]): Promise<void> {
      if ((await unguarded(target.kysely, tables, role)).length > 0) {
        await locked(target, async (queries) => {
          await look(queries);
          assertKept();
          await guardTables(queries, await unguarded(queries, tables, role), role, target.log);
        });
      }
      known ??= tables[0]?.name;
    },
    look,
    assertKept,
  };
}
