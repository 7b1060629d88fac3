import type { EntityMetadata, EntityName, IsolationLevel } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import type { ControlledTransaction } from 'kysely';
import type { PlainRows } from './rows/plain-rows.ts';
import type { Place } from './rows/statement-runner.ts';
import type { Tenancies } from './tenancy.ts';
import type { WriteGroups } from './write-groups.ts';

/** Where entity managers of one tenant come from. */
export interface TenantSource {
  readonly tenancies: Tenancies;
  readonly isMySql: boolean;
  readonly plainRows: PlainRows;
  /** Writes that may share a transaction. */
  readonly groups: WriteGroups;
  /** What is known of a registered entity. */
  metadata<E extends object>(entity: EntityName<E>): EntityMetadata<E>;
  /** A fresh MikroORM entity manager that is bound to the tenant, inside the transaction where there is one. */
  fork(tenantId: string, transaction?: ControlledTransaction<unknown>): SqlEntityManager;
  /** Where statements of the tenant run. */
  place(tenantId: string, transaction: ControlledTransaction<unknown> | undefined): Place;
  /** Runs `work` in a transaction of the tenant. */
  begin<T>(
    tenantId: string,
    isolation: IsolationLevel | undefined,
    work: (transaction: ControlledTransaction<unknown>) => Promise<T>,
  ): Promise<T>;
}
