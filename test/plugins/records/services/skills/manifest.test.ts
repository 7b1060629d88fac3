import test from 'ava';
import fc from 'fast-check';
import {
  EMPTY_MANIFEST,
  type Manifest,
  parseManifest,
  printManifest,
  type SkillEntry,
  summaries,
  uploaded,
  withoutSkill,
  withSkill,
} from '../../../../../plugins/records/services/skills/manifest.ts';

const entry: SkillEntry = {
  description: 'd',
  version: '1',
  source: 'builtin',
  user_modified: false,
  sha256: 'x',
};

test('what is printed is read again, whatever the names are', (t) => {
  const name = fc.oneof(
    fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,63}$/),
    fc.constantFrom('constructor', 'valueof'),
  );
  fc.assert(
    fc.property(
      fc.array(name),
      fc.array(name),
      fc.string({ unit: 'binary' }),
      (names, removed, description) => {
        const skills = new Map(names.map((each) => [each, { ...entry, description }]));
        const manifest: Manifest = { skills, removed: new Set(removed.sort()) };
        const read = parseManifest(printManifest(manifest)) as Manifest;
        t.deepEqual([...read.skills].sort(), [...skills].sort());
        t.deepEqual(read.removed, manifest.removed);
      },
    ),
  );
});

test('what is no manifest is damaged; one of a later version is left alone', (t) => {
  for (const text of [
    '',
    '{',
    'null',
    '[]',
    '{}',
    '{"version":1}',
    '{"version":1,"skills":{"a":{}},"removed":[]}',
    '{"version":1,"skills":{},"removed":[1]}',
    printManifest(EMPTY_MANIFEST).slice(0, -3),
    printManifest(withSkill(EMPTY_MANIFEST, '../x', entry)),
    printManifest({
      skills: new Map(Array.from({ length: 501 }, (_, index) => [`s${index}`, entry])),
      removed: new Set(),
    }),
  ]) {
    t.is(parseManifest(text), 'damaged', text.slice(0, 40));
  }
  t.is(parseManifest('{"version":2,"skills":[]}'), 'newer');
});

test('an upload keeps the source of a skill, and marks it', (t) => {
  const text = { description: 'e', version: '2', sha256: 'y' };
  t.deepEqual(uploaded(entry, text), { ...text, source: 'builtin', user_modified: true });
  t.deepEqual(uploaded(undefined, text), { ...text, source: 'user', user_modified: true });
});

test('changes make a new manifest', (t) => {
  const one = withSkill(withSkill(EMPTY_MANIFEST, 'b', entry), 'a', entry);
  t.is(EMPTY_MANIFEST.skills.size, 0);
  t.deepEqual(
    summaries(one).map(({ name }) => name),
    ['a', 'b'],
  );
  const less = withoutSkill(one, 'a', true);
  t.deepEqual([[...less.skills.keys()], [...less.removed]], [['b'], ['a']]);
  t.deepEqual([...withoutSkill(one, 'b', false).removed], []);
});
