import { parseArgs } from 'node:util';
import { chosenFeatures, FEATURES } from './new-plugin/features.ts';
import { writePlugin } from './new-plugin/write-plugin.ts';

/*
 * `npm run new-plugin -- <name> [--dir <folder>] [--with routes,grpc,…] [--scope @acme] [--gateway <tarball>]`: writes
 * a working plugin with the chosen features, and a test. With --dir it is a package of its own, in a folder of its
 * name; without --dir it is one of the bundled plugins, with its test in test/plugins.
 */

const USAGE = `npm run new-plugin -- <name> [--dir <folder>] [--with ${Object.keys(FEATURES).join(',')}] [--scope @acme] [--gateway <tarball>]`;

try {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      dir: { type: 'string' },
      with: { type: 'string' },
      scope: { type: 'string' },
      gateway: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) {
    process.stdout.write(`${USAGE}\n`);
    process.exit();
  }
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) throw new Error(`say the name of one plugin: ${USAGE}`);
  const { dir, scope, gateway } = values;
  if (dir === undefined && (scope ?? gateway) !== undefined)
    throw new Error('--scope and --gateway are for a package of its own: say where, with --dir');
  const features = chosenFeatures(values.with);
  const { folder, test } = await writePlugin({ name, dir, features, scope, gateway });
  // No public registry has the gateway's package.
  const [first, install] =
    gateway === undefined
      ? ['TARBALL=$(npm run --silent package) && ', 'npm install --no-save $TARBALL']
      : ['', 'npm install'];
  process.stdout.write(
    [
      `written: ${folder}`,
      '',
      `  check it     npm run check-plugin -- ${typed(folder)}`,
      ...(test === undefined ? [] : [`  test it      npx ava ${test}`]),
      dir === undefined
        ? '  run it       npm start'
        : `  run it       SVC_PLUGIN_DIRS=${typed(dir)} npm start`,
      ...(dir === undefined
        ? []
        : [`  package it   ${first}(cd ${typed(folder)} && ${install} && npm run check && npm pack)`]),
      '',
    ].join('\n'),
  );
} catch (failure) {
  process.stderr.write(`${failure instanceof Error ? failure.message : failure}\n`);
  process.exitCode = 1;
}

/** A path as it is typed into a shell. */
function typed(path: string): string {
  return /^[\w./@+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
