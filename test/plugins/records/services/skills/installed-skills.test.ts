import test from 'ava';
import {
  installedSkills,
  isCopy,
  readInstalled,
} from '../../../../../plugins/records/services/skills/installed-skills.ts';
import {
  EMPTY_MANIFEST,
  type Manifest,
  type SkillEntry,
  withoutSkill,
  withSkill,
} from '../../../../../plugins/records/services/skills/manifest.ts';
import { catalogOf } from './kit.ts';

const catalog = catalogOf(['alpha', 'beta']);
const alpha = catalog.skills.get('alpha')!;
const copy: SkillEntry = {
  description: 'An older one',
  version: '0.9.0',
  sha256: 'older',
  source: 'builtin',
  user_modified: false,
};
const changed: SkillEntry = { ...copy, user_modified: true };
const own: SkillEntry = { ...changed, source: 'user' };

test('a built-in skill is shared until the tenant writes over it or deletes it', (t) => {
  const cases: [string, Manifest, 'shared' | 'own' | 'none'][] = [
    ['untouched', EMPTY_MANIFEST, 'shared'],
    ['a copy that an earlier version made', withSkill(EMPTY_MANIFEST, 'alpha', copy), 'shared'],
    ['written over', withSkill(EMPTY_MANIFEST, 'alpha', changed), 'own'],
    ['an own skill of the same name', withSkill(EMPTY_MANIFEST, 'alpha', own), 'own'],
    ['deleted', withoutSkill(EMPTY_MANIFEST, 'alpha', true), 'none'],
    [
      'deleted, and then uploaded',
      withSkill(withoutSkill(EMPTY_MANIFEST, 'alpha', true), 'alpha', own),
      'own',
    ],
  ];
  for (const [title, manifest, expected] of cases) {
    const found = installedSkills(manifest, catalog).get('alpha');
    const actual = found === undefined ? 'none' : found.shared === alpha ? 'shared' : 'own';
    t.is(actual, expected, title);
  }
});

test('a copy of a skill that no longer comes with the gateway is the tenant’s', (t) => {
  t.false(isCopy('gone', copy, catalog));
  t.deepEqual(
    [...installedSkills(withSkill(EMPTY_MANIFEST, 'gone', copy), catalog).keys()],
    ['alpha', 'beta', 'gone'],
  );
});

test('shared skills take the room that the tenant’s own leave', (t) => {
  const names = (count: number) => {
    const skills = new Map(Array.from({ length: count }, (_, index) => [`s${index}`, own]));
    const { size } = installedSkills({ ...EMPTY_MANIFEST, skills }, catalog);
    return size;
  };
  t.deepEqual([names(0), names(498), names(499), names(500)], [2, 500, 500, 500]);
});

test('the list is made once for all tenants that have changed nothing', (t) => {
  const installed = readInstalled(catalog);
  t.is(installed(EMPTY_MANIFEST).list, installed(EMPTY_MANIFEST).list);
  t.not(installed(withSkill(EMPTY_MANIFEST, 'own', own)).list, installed(EMPTY_MANIFEST).list);
});
