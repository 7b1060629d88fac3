import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { Ajv } from 'ajv';
import addFormatsModule from 'ajv-formats';
import test from 'ava';
import { parseAllDocuments } from 'yaml';
import { parseSourceFile } from '../../../foundation/resources/document.ts';
import { loadBundledKinds, resourceSchemaFiles } from '../../../scripts/generate/resource-schemas.ts';

const root = path.join(import.meta.dirname, '../../..');
const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default;

async function validators(): Promise<Map<string, (value: unknown) => boolean>> {
  const files = resourceSchemaFiles(await loadBundledKinds(path.join(root, 'plugins')));
  return new Map(
    files.map((file) => {
      const ajv = addFormats(new Ajv({ strict: false }));
      return [file.path, ajv.compile(JSON.parse(file.render('')))];
    }),
  );
}

test('the schemas in the repository are those of the code', async (t) => {
  const files = resourceSchemaFiles(await loadBundledKinds(path.join(root, 'plugins')));
  t.true(files.some((file) => file.path === 'schemas/model.schema.json'));
  for (const file of files)
    t.is(await readFile(path.join(root, file.path), 'utf8'), file.render(''), file.path);
});

test('every example of agents.d names a schema that it satisfies', async (t) => {
  const folder = path.join(root, 'agents.d');
  const schemas = await validators();
  for (const name of (await readdir(folder)).filter((file) => file.endsWith('.yaml'))) {
    const text = await readFile(path.join(folder, name), 'utf8');
    const named = /^# yaml-language-server: \$schema=\.\.\/(schemas\/[a-z-]+\.schema\.json)$/m.exec(
      text,
    )?.[1];
    const isValid = schemas.get(named ?? '');
    t.truthy(isValid, `${name} names ${named}`);
    // What is commented out as an example has to be right too.
    const whole = text
      .replace(/^# (?=---|apiVersion|kind|metadata|spec| )/gm, '')
      .replace(/^ +# (?=[a-z_]+:)/gm, '  ');
    t.true(name !== 'models.yaml' || parseAllDocuments(whole).length > 1);
    for (const each of [text, whole]) {
      for (const document of parseAllDocuments(each))
        t.true(isValid?.(document.toJS()), `${name}\n${document}`);
      t.deepEqual(
        parseSourceFile(name, each).documents.flatMap(({ problems }) => problems),
        [],
      );
    }
  }
});

test('the schema of several kinds says what is wrong with a document of each', async (t) => {
  const isValid = (await validators()).get('schemas/resource.schema.json')!;
  const good = {
    apiVersion: 'svc/v1',
    kind: 'Model',
    metadata: { name: 'a' },
    spec: { provider: 'demo', model: 'demo' },
  };
  t.true(isValid(good));
  t.false(isValid({ ...good, kind: 'Modle' }));
  t.false(isValid({ ...good, spec: { ...good.spec, modle: 'x' } }));
  t.false(isValid({ ...good, metadata: { name: 'no good' } }));
  t.false(isValid({ ...good, apiVersion: 'svc/v2' }));
});
