import { defineErrors, type Page, serviceRef, type TenantEntityManager } from 'agent-gateway';

/** An item of a tenant. */
export interface ItemRecord {
  readonly id: string;
  readonly text: string;
  readonly createdAt: Date;
}

/** What a new item says. */
export interface NewItem {
  readonly text?: string;
  //#if kind
  /** The name of the preset whose text it gets, where it has none of its own. */
  readonly preset?: string;
  //#end
}

/** The items of one tenant: the one that the given entity manager is bound to. */
export interface PascalName {
  //#if kind
  /** Throws `kebab-name.full`, `kebab-name.empty` and `kebab-name.preset-not-found`. */
  //#else
  /** Throws `kebab-name.full` and `kebab-name.empty`. */
  //#end
  add(entities: TenantEntityManager, item: NewItem): Promise<ItemRecord>;
  /** Throws `kebab-name.not-found`. */
  get(entities: TenantEntityManager, id: string): Promise<ItemRecord>;
  /** A page, newest first, and the number of all. */
  list(
    entities: TenantEntityManager,
    page: Page,
  ): Promise<{ readonly items: readonly ItemRecord[]; readonly total: number }>;
  /** Throws `kebab-name.not-found`. */
  remove(entities: TenantEntityManager, id: string): Promise<void>;
}

/** What can go wrong. */
export const PascalNameErrors = defineErrors({
  notFound: { code: 'kebab-name.not-found', kind: 'not-found', title: 'There is no such item' },
  //#if kind
  presetNotFound: { code: 'kebab-name.preset-not-found', kind: 'invalid', title: 'There is no such preset' },
  //#end
  empty: { code: 'kebab-name.empty', kind: 'invalid', title: 'An item needs a text' },
  full: { code: 'kebab-name.full', kind: 'conflict', title: 'The tenant keeps as many items as it may' },
});

/** The items, for plugins that need them. */
export const PascalNameRef = serviceRef<PascalName>('kebab-name.items');
