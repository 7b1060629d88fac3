import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';

const root = path.resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

async function emptyFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'new-plugin-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs a script as npm does; the exit code and what it wrote. */
async function script(name: string, ...args: string[]) {
  const file = path.join(root, 'scripts', name);
  return run(process.execPath, [file, ...args]).then(
    ({ stdout }) => ({ code: 0, text: stdout }),
    (failure: { code: number; stdout: string; stderr: string }) => ({
      code: failure.code,
      text: failure.stdout + failure.stderr,
    }),
  );
}

test('a new plugin passes the conformance suite as it is written', async (t) => {
  const folder = await emptyFolder(t);
  const written = await script('new-plugin.ts', 'weather-alerts', '--dir', folder);
  t.is(written.code, 0, written.text);
  t.regex(written.text, /TARBALL=\$\(npm run --silent package\) && .* npm install --no-save \$TARBALL && /);
  const files = await readdir(path.join(folder, 'weather-alerts'), { recursive: true });
  for (const file of [
    'plugin.ts',
    'README.md',
    'proto/weather_alerts.proto',
    'kinds/preset.ts',
    'store/item.ts',
  ])
    t.true(files.includes(file), file);
  const contract = await readFile(path.join(folder, 'weather-alerts', 'contract.ts'), 'utf8');
  t.regex(contract, /WeatherAlertsErrors/);
  t.notRegex(contract, /kebab-name|PascalName|snake_name/);

  const checked = await script('check-plugin.ts', path.join(folder, 'weather-alerts'));
  t.is(checked.code, 0, checked.text);
  t.regex(checked.text, /✔ no list, read or change crosses tenants/);
  t.regex(checked.text, /✔ what it keeps about people is exported and erased/);
  t.notRegex(checked.text, /✘/);
});

test('a plugin that is told where the package of the gateway is installs it by itself', async (t) => {
  const folder = await emptyFolder(t);
  const written = await script('new-plugin.ts', 'snow', '--dir', folder, '--gateway', 'gateway.tgz');
  t.regex(written.text, /package it +\(cd .* && npm install && npm run check && npm pack\)/);
});

test('the commands that are printed can be typed where the folder has blanks in its name', async (t) => {
  const folder = path.join(await emptyFolder(t), "Ann's plugins");
  const { text } = await script('new-plugin.ts', 'snow', '--dir', folder);
  const command = /run it +(.*) npm start/.exec(text)?.[1];
  const { stdout } = await run('sh', ['-c', `${command}; printf %s "$SVC_PLUGIN_DIRS"`]);
  t.is(stdout, folder);
  t.regex(text, /check it .*-- '.*plugins\/snow'\n/);
  t.regex(text, /\(cd '.*plugins\/snow' && /);
});

test('a plugin that does not conform is told what is wrong', async (t) => {
  const folder = await emptyFolder(t);
  await script('new-plugin.ts', 'leaky', '--dir', folder);
  const file = path.join(folder, 'leaky', 'plugin.ts');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace('const { clock', 'setInterval(() => {}, 1000);\n    const { clock'));
  await rm(path.join(folder, 'leaky', 'README.md'));
  const checked = await script('check-plugin.ts', path.join(folder, 'leaky'));
  t.is(checked.code, 1);
  t.regex(checked.text, /✘ it has a README/);
  t.regex(
    checked.text,
    /✘ set up and torn down twice, it leaves nothing\n {4}after its stop: an interval of 1000 ms was left \(plugin\.ts:\d+\)/,
  );
});

test('a name that is none, is missing, or is taken is refused', async (t) => {
  const folder = await emptyFolder(t);
  t.regex((await script('new-plugin.ts', 'Weather', '--dir', folder)).text, /"Weather" is not a plugin name/);
  t.regex((await script('new-plugin.ts')).text, /say the name of one plugin/);
  await script('new-plugin.ts', 'weather', '--dir', folder);
  const again = await script('new-plugin.ts', 'weather', '--dir', folder);
  t.is(again.code, 1);
  t.regex(again.text, /is there already/);
  for (const name of ['runtime', 'kernel']) {
    const taken = await script('new-plugin.ts', name, '--dir', folder);
    t.is(taken.code, 1);
    t.true(taken.text.includes(`${name} comes with the gateway: choose another name`), taken.text);
  }
});

test('--help says how it is called', async (t) => {
  const { code, text } = await script('new-plugin.ts', '--help');
  t.is(code, 0);
  t.regex(text, /^npm run new-plugin -- <name> \[--dir <folder>\]/);
});

test('a folder without a plugin is told as such', async (t) => {
  const folder = await emptyFolder(t);
  t.regex((await script('check-plugin.ts', folder)).text, /has no plugin\.ts/);
});
