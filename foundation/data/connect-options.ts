import type { FilterDef } from '@mikro-orm/core';
import type { DatabaseOptions } from './database-port.ts';
import { watchDisk } from './drivers/disk-failures.ts';
import type { ConnectOptions } from './drivers/driver.ts';
import { JOURNAL } from './schema/journal.ts';
import { NOTES, TABLE_OWNERS } from './schema/table-owners.ts';
import { TENANT_FILTER, TENANT_PROPERTY, type Tenancies } from './tenancy.ts';
import { TransactionGuard } from './transaction-guard.ts';

const MAX_CONNECTIONS = 10;
const STATEMENT_TIMEOUT_MS = 30_000;

/** What the drivers connect with, of what the gateway says of its database. */
export function toConnectOptions(options: DatabaseOptions, tenancies: Tenancies): ConnectOptions {
  return {
    ...options,
    guard: new TransactionGuard(options.guardTransactions === true),
    disk: watchDisk(options.clock),
    synchronous: options.synchronous ?? 'normal',
    maxConnections: options.pool?.max ?? MAX_CONNECTIONS,
    statementTimeoutMs: options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS,
    orm: ormOptions(options, tenancies),
  };
}

function ormOptions({ log }: DatabaseOptions, tenancies: Tenancies): ConnectOptions['orm'] {
  return {
    entities: [],
    // Two generations of one owner share their tables for a while; the registry refuses every other double.
    discovery: { warnWhenNoEntities: false, checkDuplicateTableNames: false },
    filters: { [TENANT_FILTER]: tenantFilter(tenancies) },
    // Relations are not kept in step on loaded entities: every change is a statement of its own.
    propagationOnPrototype: false,
    schemaGenerator: { skipTables: [JOURNAL, NOTES, TABLE_OWNERS], ignorePolicies: true },
    // Texts of statements, without the values in them, and only at level `trace`.
    debug: log.isLevelEnabled('trace') ? ['query', 'info'] : ['info'],
    logger: (message) => log.debug({ component: 'database' }, message),
    colors: false,
  };
}

/** Adds the tenant to every read, update and delete of an entity manager that is bound to one. */
function tenantFilter(tenancies: Tenancies): FilterDef {
  return {
    name: TENANT_FILTER,
    default: true,
    args: false,
    cond: (params: { [TENANT_PROPERTY]?: string } | undefined, _type, _em, _options, entityName) => {
      const tenant = params?.[TENANT_PROPERTY];
      if (tenant === undefined) return {};
      return { [tenancies.tenantProperty(entityName as string)]: tenant };
    },
  } as FilterDef;
}
