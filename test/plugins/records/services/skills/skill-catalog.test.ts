import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';
import {
  BUILTIN_FOLDER,
  createCatalog,
  readCatalog,
} from '../../../../../plugins/records/services/skills/skill-catalog.ts';
import { MAX_SOUL_BYTES } from '../../../../../plugins/records/services/skills/souls.ts';
import { catalogOf, skillText } from './kit.ts';

test('the skills of this build can be read, and are worth a reading', async (t) => {
  const { skills, soul, id } = await readCatalog(BUILTIN_FOLDER);
  t.deepEqual(
    [...skills.keys()],
    [
      'code-review',
      'data-analysis',
      'explain-concept',
      'meeting-notes',
      'plan-project',
      'research-question',
      'summarize-document',
      'translate-text',
      'write-email',
      'write-sql',
    ],
  );
  for (const { name, text, description } of skills.values()) {
    t.true(description.length <= 300, name);
    for (const heading of ['## Before you begin', '## Procedure', '## Output', '## Checks', '## Example'])
      t.true(text.includes(`\n${heading}\n`), `${name}: ${heading}`);
  }
  t.true(Buffer.byteLength(soul) < MAX_SOUL_BYTES);
  t.is((await readCatalog(BUILTIN_FOLDER)).id, id);
});

test('another text, name or soul is another catalog; the order of files is not', (t) => {
  const { id } = catalogOf(['a', 'b']);
  t.is(catalogOf(['b', 'a']).id, id);
  t.not(catalogOf(['a', 'c']).id, id);
  t.not(catalogOf(['a', 'b'], 'otherwise').id, id);
  t.not(
    createCatalog(
      new Map([
        ['a', skillText('a')],
        ['b', skillText('b')],
      ]),
      'other',
    ).id,
    id,
  );
});

test('a wrong skill of the build is named', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-catalog-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await writeFile(path.join(folder, 'SOUL.md'), '');
  await mkdir(path.join(folder, 'wrong'));
  await writeFile(path.join(folder, 'wrong', 'SKILL.md'), skillText('other'));
  await t.throwsAsync(readCatalog(folder), { message: /built-in skill wrong: name in the front matter/ });
  t.throws(() => createCatalog(new Map([['Wrong', '']]), ''), { message: /Wrong is no name/ });
});
