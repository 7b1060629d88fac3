import { type Database, eachRow, type PersonalData } from 'agent-gateway';
import { eraseItems, Item } from '../store/item.ts';

/** What is kept about people, for export and erasure. An item belongs to the tenant, and to none of its users. */
export function createPersonalData(database: Pick<Database, 'forTenant'>): PersonalData {
  return {
    name: 'kebab-name',
    sections: [
      {
        name: 'snake_name_items',
        entities: [Item],
        async *read({ tenantId, userId }) {
          if (userId !== undefined) return;
          const items = eachRow(database.forTenant(tenantId), Item, {}, { by: ['createdAt', 'id'] });
          for await (const { id, text, createdAt } of items) yield { id, text, created_at: createdAt };
        },
      },
    ],
    async erase(entities, { userId }) {
      return { snake_name_items: userId === undefined ? await eraseItems(entities) : 0 };
    },
  };
}
