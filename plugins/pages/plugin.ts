import { definePlugin } from 'agent-gateway';
import { PagesConfig } from './config.ts';

export default definePlugin({
  name: 'pages',
  summary: 'Static pages: `/`, `/admin.html` and `/static/*`, from a folder that the operator names',
  kernel: '^1.0.0',
  config: PagesConfig,
  async setup(scope) {
    const { static_dir: path } = scope.config;
    if (path === undefined) return;
    // Loaded only here: most deployments do not use it.
    const { openPages } = await import('./open-pages.ts');
    scope.route(...(await openPages(path, scope)));
  },
});
