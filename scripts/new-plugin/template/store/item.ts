import { column, defineEntity, type Page, type TenantEntityManager } from 'agent-gateway';
import type { ItemRecord } from '../contract.ts';

/** Characters of an item at most; `001-initial` says the same to the database. */
export const MAX_TEXT = 2000;

/** An item. Its `tenantId` makes it tenant-owned: no query of the plugin has to say so. */
export const Item = defineEntity({
  name: 'PascalNameItem',
  tableName: 'snake_name_items',
  indexes: [{ name: 'snake_name_items_created', properties: ['tenantId', 'createdAt', 'id'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    text: column.string(MAX_TEXT),
    createdAt: column.time(),
  },
});

/** How many items the tenant keeps. */
export function countItems(entities: TenantEntityManager): Promise<number> {
  return entities.count(Item);
}

/** Writes an item of the tenant. */
export function insertItem(entities: TenantEntityManager, item: ItemRecord): Promise<void> {
  return entities.insert(Item, item);
}

/** An item of the tenant by its id. */
export async function findItem(entities: TenantEntityManager, id: string): Promise<ItemRecord | undefined> {
  return (await entities.findOne(Item, { id })) ?? undefined;
}

/** A page of the tenant's items, newest first, and the number of all. */
export async function findItems(entities: TenantEntityManager, { limit, offset }: Page) {
  const orderBy = { createdAt: 'desc', id: 'desc' } as const;
  const [items, total] = await entities.findAndCount(Item, {}, { orderBy, limit, offset });
  return { items, total };
}

//#if job
/** Changes the text of an item of the tenant. */
export async function setText(entities: TenantEntityManager, id: string, text: string): Promise<void> {
  await entities.update(Item, { id }, { text });
}

//#end
/** False when the tenant has no such item. */
export async function deleteItem(entities: TenantEntityManager, id: string): Promise<boolean> {
  return (await entities.delete(Item, { id })) > 0;
}

/** Deletes all items of the tenant, however many; returns how many. */
export function eraseItems(entities: TenantEntityManager): Promise<number> {
  return entities.erase(Item, {});
}
