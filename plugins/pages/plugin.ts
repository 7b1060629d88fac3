import { definePlugin } from 'agent-gateway';
import { PagesConfig } from './config.ts';
import { pageRoutes } from './routes/pages.ts';
import { openFolder } from './services/folder.ts';
import { createRepresentations } from './services/representations.ts';

export default definePlugin({
  name: 'pages',
  summary: 'Static pages: `/`, `/admin.html` and `/static/*`, from a folder that the operator names',
  kernel: '^1.0.0',
  config: PagesConfig,
  async setup(scope) {
    const { static_dir: path } = scope.config;
    if (path === undefined) return;
    const { clock } = scope.services;
    const folder = await openFolder({ path, clock, log: scope.log });
    scope.route(...pageRoutes(createRepresentations({ folder, clock, log: scope.log })));
  },
});
