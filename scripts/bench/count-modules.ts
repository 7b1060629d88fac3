import { registerHooks } from 'node:module';

/* Imported before a program: on SIGUSR2 it prints how many modules the program has loaded, those of Node excepted. */

const loaded = new Set<string>();
registerHooks({
  load: (url, context, next) => {
    if (url.startsWith('file:')) loaded.add(url);
    return next(url, context);
  },
});
process.on('SIGUSR2', () => process.stdout.write(`modules ${loaded.size}\n`));
