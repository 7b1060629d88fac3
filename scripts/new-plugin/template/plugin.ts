import { definePlugin, PersonalDataPoint } from 'agent-gateway';
import { PascalNameConfig } from './config.ts';
import { PascalNameRef } from './contract.ts';
import { itemMethods } from './grpc/items.ts';
import { presetKind } from './kinds/preset.ts';
import { itemRoutes } from './routes/items.ts';
import { createItems } from './services/items.ts';
import { createPersonalData } from './services/personal-data.ts';
import { initial } from './store/001-initial.ts';
import { Item } from './store/item.ts';

export default definePlugin({
  name: 'kebab-name',
  summary: 'Keeps short items for each tenant',
  version: '0.1.0',
  kernel: '^1.0.0',
  config: PascalNameConfig,
  offers: [PascalNameRef],
  entities: [Item],
  migrations: [initial],
  setup(scope) {
    const { clock, database, ids } = scope.services;
    const presets = scope.kind(presetKind);
    const items = createItems({ settings: scope.config, clock, ids, preset: (name) => presets.get(name) });
    scope.provide(PascalNameRef, items);
    scope.route(...itemRoutes(items));
    scope.grpc(itemMethods(items));
    scope.contribute(PersonalDataPoint, createPersonalData(database));
  },
});
