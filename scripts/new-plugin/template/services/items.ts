import type { Clock, Ids, TenantEntityManager } from 'agent-gateway';
import type { PascalNameSettings } from '../config.ts';
import { type PascalName, PascalNameErrors } from '../contract.ts';
import { countItems, deleteItem, findItem, findItems, insertItem } from '../store/item.ts';

/** What the items are made of. */
export interface ItemsParts {
  readonly settings: PascalNameSettings;
  readonly clock: Clock;
  readonly ids: Ids;
  //#if kind
  /** The text of a preset. */
  preset(name: string): string | undefined;
  //#end
  //#if job
  /** Called in the transaction of a new item. */
  added(entities: TenantEntityManager, id: string): Promise<unknown>;
  //#end
}

/** Makes the service behind the routes, the gRPC methods and `PascalNameRef`. */
export function createItems(parts: ItemsParts): PascalName {
  const { settings, clock, ids } = parts;
  return {
    async add(entities, wanted) {
      //#if kind
      const prepared = wanted.preset === undefined ? undefined : parts.preset(wanted.preset);
      if (wanted.preset !== undefined && prepared === undefined) throw PascalNameErrors.presetNotFound();
      const text = wanted.text ?? prepared;
      //#else
      const { text } = wanted;
      //#end
      if (text === undefined) throw PascalNameErrors.empty();
      // Simultaneous callers may get a little above the limit: it bounds the table, it is no exact quota.
      if ((await countItems(entities)) >= settings.max_items) throw PascalNameErrors.full();
      const item = { id: ids.uuid(), text, createdAt: new Date(clock.now()) };
      //#if job
      await entities.transaction(async (own) => {
        await insertItem(own, item);
        await parts.added(own, item.id);
      });
      //#else
      await insertItem(entities, item);
      //#end
      return item;
    },
    async get(entities, id) {
      const item = await findItem(entities, id);
      if (item === undefined) throw PascalNameErrors.notFound();
      return item;
    },
    list: findItems,
    async remove(entities, id) {
      if (!(await deleteItem(entities, id))) throw PascalNameErrors.notFound();
    },
  };
}
