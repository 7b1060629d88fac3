import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';
import fc from 'fast-check';
import {
  BUILTIN_FOLDER,
  builtinCatalog,
  createCatalog,
  isSkillName,
  readCatalog,
  readSkill,
} from '../../../../../plugins/records/services/skills/skill-text.ts';
import { MAX_SOUL_BYTES } from '../../../../../plugins/records/services/skills/skills.ts';
import { anyCodePoint } from '../../../../support/code-points.ts';
import { cpuNow } from '../../../../support/cpu-time.ts';
import { catalogOf, skillText } from './kit.ts';

const pointers = (name: string, text: string) => {
  const reading = readSkill(name, text);
  return 'problems' in reading ? reading.problems.map(({ pointer }) => pointer) : [];
};

test('a name is what can stand in a key, and nothing else', (t) => {
  for (const name of ['a', '0', 'write-email', 'a--b', 'a-', 'x'.repeat(64), 'constructor'])
    t.true(isSkillName(name), name);
  for (const name of ['', '-a', 'A', 'a_b', 'a/b', '..', 'a.b', 'a b', 'ä', 'a\n', 'x'.repeat(65)]) {
    t.false(isSkillName(name), JSON.stringify(name));
  }
});

test('front matter and body are read, with either line end', (t) => {
  const text =
    '--- \nname: a\nextra: [1, {b: c}]\ndescription: >-\n  Two\n  lines\nversion: 1.10\n---\n\n# A\n---\nmore';
  for (const source of [text, text.replaceAll('\n', '\r\n')]) {
    const reading = readSkill('a', source);
    t.deepEqual('head' in reading && reading.head, { description: 'Two lines', version: '1.10' });
    t.is('body' in reading && reading.body.replaceAll('\r', ''), '\n# A\n---\nmore');
  }
});

test('all that is wrong with front matter is told together, by field', (t) => {
  t.deepEqual(pointers('b', skillText('a')), ['/body/name']);
  t.deepEqual(pointers('a', '---\nfoo: bar\n---\n'), ['/body/name', '/body/description', '/body/version']);
  t.deepEqual(pointers('a', '---\nname: a\ndescription: [x]\nversion: " "\n---\n'), [
    '/body/description',
    '/body/version',
  ]);
  const long = (length: number) => `---\nname: a\nversion: 1\ndescription: ${'x'.repeat(length)}\n---\n`;
  t.deepEqual(pointers('a', long(1024)), []);
  t.deepEqual(pointers('a', long(1025)), ['/body/description']);
});

test('front matter that is too long is told its limit', (t) => {
  const reading = readSkill('a', `---\nname: a\n${'# comment\n'.repeat(1000)}---\n`);
  t.regex('problems' in reading ? reading.problems[0]!.message : '', /8192 characters at most/);
});

test('a text without readable front matter is none', (t) => {
  const head = 'name: a\ndescription: d\nversion: 1\n';
  for (const text of [
    '',
    '# A',
    head,
    ` ---\n${head}---\n`,
    `---\n${head}`,
    `---\n${head}--- end\n`,
    '---\n---\n',
    '---\n- a\n---\n',
    '---\njust text\n---\n',
    `---\nname: a\n${head}---\n`,
    '---\nname: [a\n---\n',
    `---\nx: &x [1]\ny: *x\n${head}---\n`,
    `---\npadding: ${'x'.repeat(20_000)}\n${head}---\n`,
  ]) {
    t.deepEqual(pointers('a', text), ['/body'], text.slice(0, 40));
  }
});

test('names of members are data, also those that objects have by themselves', (t) => {
  t.deepEqual(pointers('a', '---\n__proto__: {name: a}\nconstructor: x\n---\n').length, 3);
});

test('a hostile megabyte is refused in no time', (t) => {
  const mega = (piece: string) => `---\n${piece.repeat(Math.ceil(1_000_000 / piece.length))}`;
  for (const text of [
    mega('---'),
    mega('--- '),
    mega('--- x\n'),
    mega('\n'),
    mega('['),
    mega('{a: '),
    mega('- '),
    mega(' \t'),
    mega('a: &a\n'),
    mega('"'),
    mega('\r'),
    `---\n${'['.repeat(16_000)}\n---\n`,
    `---\n${'- '.repeat(8000)}\n---\n`,
    `---\n${'? '.repeat(8000)}\n---\n`,
    `---\n${'&a '.repeat(5000)}\n---\n`,
    `---\n${Array.from({ length: 900 }, (_, index) => `k${index}: {a: b}`).join('\n')}\n---\n`,
    `---\n${' '.repeat(1_000_000)}`,
    `---${' '.repeat(1_000_000)}`,
  ]) {
    const start = cpuNow();
    t.true('problems' in readSkill('a', text));
    t.true(cpuNow() - start < 1000, `${text.slice(0, 20)} took ${cpuNow() - start} ms`);
  }
});

test('any text is read or refused', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: anyCodePoint }), fc.string({ unit: anyCodePoint }), (yaml, body) => {
      const reading = readSkill('a', `---\n${yaml}\n---\n${body}`);
      return 'problems' in reading ? reading.problems.length > 0 : reading.head.version !== '';
    }),
  );
  t.pass();
});

test('the skills and the soul of this build can be read, and are the same catalog each time', async (t) => {
  const { skills, soul, id } = readCatalog(BUILTIN_FOLDER);
  t.true(skills.size > 0);
  t.true(Buffer.byteLength(soul) < MAX_SOUL_BYTES);
  t.is(readCatalog(BUILTIN_FOLDER).id, id);
});

test('gateways of one process share the catalog of the build', (t) => {
  t.is(builtinCatalog(), builtinCatalog());
  t.is(builtinCatalog().id, readCatalog(BUILTIN_FOLDER).id);
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
  const catalog = readCatalog(folder);
  t.throws(() => catalog.skills, { message: /built-in skill wrong: name in the front matter/ });
  t.throws(() => createCatalog(new Map([['Wrong', '']]), ''), { message: /Wrong is no name/ });
});
