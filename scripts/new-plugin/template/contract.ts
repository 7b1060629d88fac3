import { defineErrors, type Page, serviceRef, type TenantEntityManager } from 'agent-gateway';

/** An item of a tenant. */
export interface ItemRecord {
  readonly id: string;
  readonly text: string;
  readonly createdAt: Date;
}

/** What a new item says: its own text, or that of a preset. */
export interface NewItem {
  readonly text?: string;
  readonly preset?: string;
}

/** The items of one tenant: the one that the given entity manager is bound to. */
export interface PascalName {
  /** Throws `kebab-name.full`, `kebab-name.empty` and `kebab-name.preset-not-found`. */
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
  presetNotFound: { code: 'kebab-name.preset-not-found', kind: 'invalid', title: 'There is no such preset' },
  empty: { code: 'kebab-name.empty', kind: 'invalid', title: 'An item needs a text or a preset' },
  full: { code: 'kebab-name.full', kind: 'conflict', title: 'The tenant keeps as many items as it may' },
});

/** The items, for plugins that need them. */
export const PascalNameRef = serviceRef<PascalName>('kebab-name.items');
