import { parseArgs } from 'node:util';
import { writePlugin } from './new-plugin/write-plugin.ts';

/*
 * `npm run new-plugin -- <name> [--dir <folder>]`: writes a working plugin with a route, a gRPC method, a YAML kind, a table
 * and a test. Without --dir it is one of the bundled plugins, with its test in test/plugins.
 */

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { dir: { type: 'string' } },
});

try {
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0)
    throw new Error('say the name of one plugin: npm run new-plugin -- <name> [--dir <folder>]');
  const { folder, test } = await writePlugin(name, values.dir);
  process.stdout.write(
    [
      `written: ${folder}`,
      '',
      `  check it     npm run check-plugin -- ${folder}`,
      ...(test === undefined ? [] : [`  test it      npx ava ${test}`]),
      values.dir === undefined
        ? '  run it       npm start'
        : `  run it       SVC_PLUGIN_DIRS=${values.dir} npm start`,
      '',
    ].join('\n'),
  );
} catch (failure) {
  process.stderr.write(`${failure instanceof Error ? failure.message : failure}\n`);
  process.exitCode = 1;
}
