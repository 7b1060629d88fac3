import { defineJob, type TenantEntityManager } from 'agent-gateway';
import Type from 'typebox';
import { findItem, setText } from '../store/item.ts';

/** Published with each new item, in its transaction: done at least once, by some replica. */
export const TidyItem = defineJob('kebab-name.tidy-item', Type.Object({ item_id: Type.String() }));

/** Leaves one blank between words. May run twice: the second time changes nothing. */
export async function tidyItem(entities: TenantEntityManager, id: string): Promise<void> {
  const item = await findItem(entities, id);
  if (item !== undefined) await setText(entities, id, item.text.replaceAll(/\s+/g, ' ').trim());
}
