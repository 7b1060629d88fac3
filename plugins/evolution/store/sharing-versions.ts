import type { Database, Page, TenantEntityManager } from 'agent-gateway';
import {
  type GlobalSharingRow,
  GlobalSharingTable,
  type TenantSharingRow,
  TenantSharingTable,
} from './tables.ts';

/** The versions of one policy. */
export interface VersionStore<Row> {
  /** The version in force; undefined where none was written. */
  latest(): Promise<Row | undefined>;
  find(version: number): Promise<Row | undefined>;
  /** A page, newest first, and the number of all. */
  page(page: Page): Promise<[Row[], number]>;
  /** Fails with a unique violation where there is this version already. */
  add(row: Row): Promise<void>;
}

const NEWEST_FIRST = { orderBy: { version: 'desc' } } as const;

/** The versions of the global policy. */
export function globalVersions(database: Pick<Database, 'system'>): VersionStore<GlobalSharingRow> {
  return {
    latest: async () =>
      (await database.system().find(GlobalSharingTable, {}, { ...NEWEST_FIRST, limit: 1 }))[0],
    find: async (version) => (await database.system().findOne(GlobalSharingTable, { version })) ?? undefined,
    page: (page) => database.system().findAndCount(GlobalSharingTable, {}, { ...NEWEST_FIRST, ...page }),
    add: async (row) => {
      await database.system().insert(GlobalSharingTable, row);
    },
  };
}

/** The versions of the policy of a tenant. */
export function tenantVersions(entities: TenantEntityManager): VersionStore<TenantSharingRow> {
  return {
    latest: async () => (await entities.find(TenantSharingTable, {}, { ...NEWEST_FIRST, limit: 1 }))[0],
    find: async (version) => (await entities.findOne(TenantSharingTable, { version })) ?? undefined,
    page: (page) => entities.findAndCount(TenantSharingTable, {}, { ...NEWEST_FIRST, ...page }),
    add: ({ tenantId: _, ...row }) => entities.insert(TenantSharingTable, row),
  };
}
