import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

/*
 * What `saas-api` does with its arguments. In JavaScript, like kernel/main.js, so that what `serve` loads is compiled
 * code from the first module on.
 */

const HELP = `Usage: saas-api [command]

Commands:
  serve     start the gateway (the default)
  migrate   bring the tables to their newest form, and end
  openapi   print the OpenAPI document of the configured deployment; nothing listens, and no server is asked
  plugins   list                every plugin, where it is from, its version and state as configured
            add <package>       install an npm package beside gateway.yaml, and write its entry
            remove <plugin>     take the entry and the package out; tables stay
            remove <plugin> --with-data [--yes]
                                drop the tables of a plugin that is disabled or gone, too; asks before, or takes --yes
  check     check variables, gateway.yaml, plugins and agents.d, and whether database, Redis and object store answer

Options:
  -h, --help      show this text
  -V, --version   show the version

Configuration comes from variables and gateway.yaml: see docs/settings.md. It exits with 0 when all went well, with 1 when
something did not, with 2 when it was called in a way that it does not know.
`;

/** The kernel's own process, which reads its arguments itself. */
async function kernel(...args) {
  process.argv.splice(2, process.argv.length, ...args);
  await import('../kernel/main.js');
}

const COMMANDS = {
  serve: () => kernel(),
  migrate: () => kernel('--migrate-only'),
  openapi: () => run(() => import('./openapi.ts')),
  check: () => run(() => import('./check.ts')),
  plugins: () => run(() => import('./plugins.ts')),
};

/** What `plugins` is followed by. */
const PLUGIN_VERBS = { list: [], add: ['<package>'], remove: ['<plugin>'] };
/** Last of all, and only these. */
const PLUGIN_OPTIONS = { remove: [[], ['--with-data'], ['--with-data', '--yes']] };

/**
 * Runs a command that ends without a signal, unlike `serve`. It waits until all output is written, since a pipe takes
 * it in parts.
 */
async function run(load) {
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/gateway', import.meta.url)));
  const { quickenImports } = await import('../foundation/code/quick-imports.ts');
  quickenImports();
  const { main } = await load();
  const { code, out, err } = await main(rest);
  await written(process.stderr, err);
  await written(process.stdout, out);
  // A handle that a plugin left open would keep the process alive.
  process.exit(code);
}

function written(stream, text) {
  const { promise, resolve } = Promise.withResolvers();
  // The reader has closed the pipe: `saas-api openapi | head`.
  stream.once('error', resolve);
  stream.write(text, resolve);
  return promise;
}

function refuse(sentence) {
  process.stderr.write(`${sentence}\n\n${HELP}`);
  process.exitCode = 2;
}

const args = process.argv.slice(2);
const [command = 'serve', ...rest] = args;
if (args.some((arg) => arg === '--help' || arg === '-h') || command === 'help') {
  process.stdout.write(HELP);
} else if (command === '--version' || command === '-V') {
  const { VERSION } = await import('../kernel/version.ts');
  process.stdout.write(`${VERSION}\n`);
} else if (!Object.hasOwn(COMMANDS, command)) {
  const { didYouMean } = await import('../foundation/base/nearest-name.ts');
  refuse(`saas-api has no command ${command}${didYouMean(command, Object.keys(COMMANDS))}`);
} else if (command === 'plugins') {
  const [verb = 'list', ...given] = rest;
  const names = given.filter((one) => !one.startsWith('-'));
  const options = given.filter((one) => one.startsWith('-'));
  const allowed = (Object.hasOwn(PLUGIN_OPTIONS, verb) ? PLUGIN_OPTIONS[verb] : [[]]).map(String);
  const wanted = Object.hasOwn(PLUGIN_VERBS, verb) ? PLUGIN_VERBS[verb] : undefined;
  if (wanted === undefined || names.length !== wanted.length || !allowed.includes(String(options))) {
    const forms = Object.entries(PLUGIN_VERBS).map(([name, after]) => [name, ...after].join(' '));
    refuse(
      `saas-api plugins is followed by ${forms.join(', or ')}${verb === 'remove' ? ' [--with-data [--yes]]' : ''}`,
    );
  } else {
    await COMMANDS.plugins();
  }
} else if (rest.length > 0) {
  refuse(`saas-api ${command} takes no arguments, and got ${rest.join(' ')}`);
} else {
  await COMMANDS[command]();
}
