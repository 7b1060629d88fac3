import test from 'ava';
import fc from 'fast-check';
import {
  EMPTY_MANIFEST,
  type Manifest,
  parseManifest,
  printManifest,
  type SkillEntry,
  uploaded,
  withoutSkill,
  withSkill,
} from '../../../../../plugins/records/services/skills/manifest.ts';
import { dueIn, failed, provisioned } from '../../../../../plugins/records/services/skills/provisioning.ts';
import { anyCodePoint } from '../../../../support/code-points.ts';

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
      fc.string({ unit: anyCodePoint }),
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

test('all tenants that have changed nothing have one manifest in memory', (t) => {
  t.is(parseManifest(printManifest({ skills: new Map(), removed: new Set() })), EMPTY_MANIFEST);
});

test('an upload keeps the source of a skill, and marks it', (t) => {
  const text = { description: 'e', version: '2', sha256: 'y' };
  t.deepEqual(uploaded(entry, text), { ...text, source: 'builtin', user_modified: true });
  t.deepEqual(uploaded(undefined, text), { ...text, source: 'user', user_modified: true });
});

test('changes make a new manifest', (t) => {
  const one = withSkill(withSkill(EMPTY_MANIFEST, 'b', entry), 'a', entry);
  t.is(EMPTY_MANIFEST.skills.size, 0);
  t.deepEqual([...one.skills.keys()], ['b', 'a']);
  const less = withoutSkill(one, 'a', true);
  t.deepEqual([[...less.skills.keys()], [...less.removed]], [['b'], ['a']]);
  t.deepEqual([...withoutSkill(one, 'b', false).removed], []);
});

const now = Date.UTC(2030, 0, 1);
test('a tenant is due once for each catalog, and after a failure when its time has come', (t) => {
  t.is(dueIn(undefined, 'c', now), 0);
  t.is(dueIn(provisioned('c', now), 'c', now), Number.POSITIVE_INFINITY);
  t.is(dueIn(provisioned('older', now), 'c', now), 0);
  const after = failed(provisioned('older', now), now, 0);
  t.is(dueIn(after, 'c', now + 29_999), 1);
  t.is(dueIn(after, 'c', now + 30_000), 0);
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
