import { registerHooks } from 'node:module';

/*
 * Imported before a program: on SIGUSR2 it prints how many modules the program has loaded, those of Node excepted, and how many
 * of them each package has. Modules outside `node_modules` are no package's.
 */

const loaded = new Set<string>();
registerHooks({
  load: (url, context, next) => {
    if (url.startsWith('file:')) loaded.add(url);
    return next(url, context);
  },
});
process.on('SIGUSR2', () => {
  const packages: Record<string, number> = {};
  for (const url of loaded) {
    const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
    if (name !== undefined) packages[name] = (packages[name] ?? 0) + 1;
  }
  process.stdout.write(`${JSON.stringify({ modules: loaded.size, packages })}\n`);
});
