import type { Clock, Ids } from 'agent-gateway';
import type { PascalNameSettings } from '../config.ts';
import { type PascalName, PascalNameErrors } from '../contract.ts';
import { countItems, deleteItem, findItem, findItems, insertItem } from '../store/item.ts';

/** What the items are made of. */
export interface ItemsParts {
  readonly settings: PascalNameSettings;
  readonly clock: Clock;
  readonly ids: Ids;
  /** The text of a preset. */
  preset(name: string): string | undefined;
}

/** Makes the service behind the routes, the gRPC methods and `PascalNameRef`. */
export function createItems({ settings, clock, ids, preset }: ItemsParts): PascalName {
  return {
    async add(entities, { text, preset: name }) {
      const prepared = name === undefined ? undefined : preset(name);
      if (name !== undefined && prepared === undefined) throw PascalNameErrors.presetNotFound();
      const said = text ?? prepared;
      if (said === undefined) throw PascalNameErrors.empty();
      // Simultaneous callers may get a little above the limit: it bounds the table, it is no exact quota.
      if ((await countItems(entities)) >= settings.max_items) throw PascalNameErrors.full();
      const item = { id: ids.uuid(), text: said, createdAt: new Date(clock.now()) };
      await insertItem(entities, item);
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
