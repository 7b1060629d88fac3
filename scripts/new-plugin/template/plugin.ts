import { definePlugin, PersonalDataPoint } from 'agent-gateway';
import { ToolsPoint } from 'agent-gateway/contracts/agent-engine';
import { NodeTypesPoint } from 'agent-gateway/contracts/workflow';
import { PascalNameConfig } from './config.ts';
import { PascalNameRef } from './contract.ts';
import { itemMethods } from './grpc/items.ts';
import { TidyItem, tidyItem } from './jobs/tidy-item.ts';
import { presetKind } from './kinds/preset.ts';
import { shortenNode } from './node-types/shorten.ts';
import { page } from './pages/page.ts';
import { itemRoutes } from './routes/items.ts';
import { createItems } from './services/items.ts';
import { createPersonalData } from './services/personal-data.ts';
import { initial } from './store/001-initial.ts';
import { Item } from './store/item.ts';
import { tools } from './tools/count-words.ts';

export default definePlugin({
  name: 'kebab-name',
  //#if table
  summary: 'Keeps short items for each tenant',
  //#else
  summary: 'PascalName',
  //#end
  version: '0.1.0',
  kernel: '^1.0.0',
  //#if table
  config: PascalNameConfig,
  offers: [PascalNameRef],
  entities: [Item],
  migrations: [initial],
  //#end
  //#if job
  jobs: [TidyItem],
  //#end
  setup(scope) {
    //#if table
    //#if job
    const { clock, database, ids, jobs } = scope.services;
    //#else
    const { clock, database, ids } = scope.services;
    //#end
    //#if kind
    const presets = scope.kind(presetKind);
    //#end
    const items = createItems({
      settings: scope.config,
      clock,
      ids,
      //#if kind
      preset: (name) => presets.get(name),
      //#end
      //#if job
      added: (entities, id) => jobs.publish(entities, TidyItem, { item_id: id }),
      //#end
    });
    scope.provide(PascalNameRef, items);
    //#end
    //#if routes
    scope.route(...itemRoutes(items));
    //#end
    //#if grpc
    scope.grpc(itemMethods(items));
    //#end
    //#if table
    scope.contribute(PersonalDataPoint, createPersonalData(database));
    //#end
    //#if job
    scope.worker(TidyItem, ({ item_id: id }, { entities }) => tidyItem(entities(), id));
    //#end
    //#if tool
    scope.contribute(ToolsPoint, tools);
    //#end
    //#if node-type
    scope.contribute(NodeTypesPoint, shortenNode);
    //#end
    //#if page
    scope.route(page);
    //#end
  },
});
