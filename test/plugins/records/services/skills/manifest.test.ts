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
import {
  type BuiltinStep,
  builtinEntry,
  builtinStep,
  failed,
  isDue,
  pendingSkills,
  provisioned,
} from '../../../../../plugins/records/services/skills/provisioning.ts';
import { catalogOf } from './kit.ts';

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

const now = Date.UTC(2030, 0, 1);
const catalog = catalogOf(['alpha', 'beta', 'gamma']);
const alpha = catalog.skills.get('alpha')!;
const current = builtinEntry(alpha);
const older: SkillEntry = { ...current, sha256: 'older' };

test('a built-in skill is installed, updated or kept', (t) => {
  const withEntry = (entry: SkillEntry) => withSkill(EMPTY_MANIFEST, 'alpha', entry);
  const cases: [string, Manifest, BuiltinStep][] = [
    ['not there', EMPTY_MANIFEST, 'install'],
    ['current', withEntry(current), 'keep'],
    ['older', withEntry(older), 'update'],
    ['older, and changed by the tenant', withEntry({ ...older, user_modified: true }), 'keep'],
    ['an own skill of the same name', withEntry({ ...older, source: 'user', user_modified: true }), 'keep'],
    ['deleted', withoutSkill(withEntry(current), 'alpha', true), 'keep'],
    [
      'deleted, and then uploaded',
      withSkill(withoutSkill(EMPTY_MANIFEST, 'alpha', true), 'alpha', older),
      'keep',
    ],
  ];
  for (const [title, manifest, step] of cases) t.is(builtinStep(manifest, alpha), step, title);
});

test('updates need no room, new skills do', (t) => {
  const manifest = withSkill(EMPTY_MANIFEST, 'beta', { ...older, sha256: 'b' });
  const names = (most: number) => {
    const { pending, withoutRoom } = pendingSkills(manifest, catalog, most);
    return [pending.map(({ name }) => name), withoutRoom];
  };
  t.deepEqual(names(500), [['alpha', 'beta', 'gamma'], 0]);
  t.deepEqual(names(2), [['alpha', 'beta'], 1]);
  t.deepEqual(names(1), [['beta'], 2]);
  t.deepEqual(names(0), [['beta'], 2]);
});

test('a tenant is due once for each catalog, and after a failure when its time has come', (t) => {
  t.true(isDue(undefined, 'c', now));
  t.false(isDue(provisioned('c', now), 'c', now));
  t.true(isDue(provisioned('older', now), 'c', now));
  const after = failed(provisioned('older', now), now, 0);
  t.false(isDue(after, 'c', now + 29_999));
  t.true(isDue(after, 'c', now + 30_000));
});

test('attempts wait ever longer, an hour at most, and not all the same', (t) => {
  let state = failed(undefined, now, 0);
  const delays: number[] = [];
  for (let attempt = 0; attempt < 10; attempt += 1) {
    delays.push((state.nextAttemptAt!.getTime() - now) / 1000);
    state = failed(state, now, 0);
  }
  t.deepEqual(delays, [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]);
  fc.assert(
    fc.property(fc.nat(2 ** 31 - 2), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
      const next = failed({ ...state, failures }, now, random);
      const delay = next.nextAttemptAt!.getTime() - now;
      return delay >= 15_000 && delay <= 3_600_000 && next.failures === failures + 1;
    }),
  );
});
