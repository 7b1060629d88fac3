import test from 'ava';
import fc from 'fast-check';
import { evidenceOf } from '../../../../plugins/evolution/rules/evidence.ts';
import { type Features, featuresOf } from '../../../../plugins/evolution/rules/features.ts';
import { findClasses, MAX_CLASSES } from '../../../../plugins/evolution/rules/find-classes.ts';
import { classOf, NO_CLASSES } from '../../../../plugins/evolution/rules/task-classes.ts';
import { KINDS, taskText } from '../../../../scripts/bench/evolution/tasks.ts';
import { cpuNow } from '../../../support/cpu-time.ts';

/** Tasks of three kinds in turn, in words that differ each time, but are the same in each run. */
function tasksOf(count: number): readonly { readonly kind: string; readonly features: Features }[] {
  let state = 7;
  const random = () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
  return Array.from({ length: count }, (_, index) => {
    const kind = KINDS[index % 3]!;
    return { kind: kind.name, features: featuresOf(taskText(kind, random)) };
  });
}

test('kinds of task are found without being named, and the tasks of a class are of one kind', (t) => {
  const tasks = tasksOf(200);
  const classes = findClasses(
    tasks.map(({ features }) => features),
    NO_CLASSES,
  );
  const rest = tasksOf(400).slice(200);
  const byClass = Map.groupBy(rest, ({ features }) => classOf(classes, features));
  t.true(byClass.size >= 3 && byClass.size <= 8, `${byClass.size} classes`);
  let pure = 0;
  for (const [taskClass, members] of byClass) {
    if (taskClass === undefined) continue;
    pure += Math.max(...[...Map.groupBy(members, ({ kind }) => kind).values()].map(({ length }) => length));
  }
  t.true(pure / rest.length >= 0.95, `${pure} of ${rest.length}`);
});

test('classes keep their ids while they learn', (t) => {
  const features = tasksOf(260).map((task) => task.features);
  const before = findClasses(features.slice(0, 200), NO_CLASSES);
  const after = findClasses(features, before);
  const moved = [...before].filter(([word, { taskClass }]) => {
    const now = after.get(word)?.taskClass;
    return now !== undefined && now !== taskClass;
  });
  t.true(moved.length <= before.size / 10, `${moved.length} of ${before.size} words`);
});

test('the same tasks give the same classes, whatever order their words have', (t) => {
  const features = tasksOf(120).map((task) => task.features);
  const turned = features.map((one) => one.toReversed());
  t.deepEqual(
    new Map([...findClasses(features, NO_CLASSES)].sort()),
    new Map([...findClasses(turned, NO_CLASSES)].sort()),
  );
});

const bags = fc.array(fc.uniqueArray(fc.nat(60), { maxLength: 10 }), { maxLength: 80 });

test('whatever the tasks are, classes are bounded, their ids unique, and each task has the class of one of its words', (t) => {
  fc.assert(
    fc.property(bags, bags, (first, second) => {
      const before = findClasses(first, NO_CLASSES);
      const classes = findClasses(second, before);
      t.true(new Set([...classes.values()].map(({ taskClass }) => taskClass)).size <= MAX_CLASSES);
      for (const features of second) {
        const found = classOf(classes, features);
        const own = features.flatMap((word) => classes.get(word)?.taskClass ?? []);
        t.true(found === undefined ? own.length === 0 : own.includes(found));
        t.is(classOf(classes, features.toReversed()), found);
      }
    }),
    { numRuns: 50 },
  );
});

test('features are words without what varies: names of files, numbers, addresses and quotations', (t) => {
  const one = featuresOf(
    'Please convert the report /tmp/a1.csv of anna@example.com: "secret text" `x` 12.50',
  );
  t.deepEqual(one, featuresOf('convert report'));
  t.deepEqual(featuresOf('Converted reports!'), featuresOf('convert report'));
  t.deepEqual(featuresOf(''), []);
  t.is(featuresOf('发票金额').length, 3, 'pairs of characters where no space stands between words');
  t.true(
    featuresOf(
      Array.from(
        { length: 500 },
        (_, index) =>
          `word${'abcdefghij'[index % 10]}${'klmnopqrst'[Math.floor(index / 10) % 10]}${'uvwxyz'[index % 6]}`,
      ).join(' '),
    ).length <= 64,
  );
});

test('of a task without spaces a number or an address is left out, and not all of it', (t) => {
  t.deepEqual(featuresOf('请统计2024年的发票，发给anna@example.com'), featuresOf('请统计 年的发票 发给'));
  t.deepEqual(featuresOf('第3回データ分析'), featuresOf('第 回データ分析'));
});

test('a task without spaces is read as fast as one with them', (t) => {
  for (const part of ['a', '账单发票价格', ':/', '«', '“']) {
    const text = part.repeat(4_000 / part.length);
    const before = cpuNow();
    featuresOf(text);
    const took = cpuNow() - before;
    t.true(took < 100, `4,000 characters of ${part} took ${took} ms`);
  }
});

test('evidence is counted by class and component, later tasks more than earlier ones', (t) => {
  const classes = new Map([
    [1, { taskClass: 'one', weight: 1 }],
    [2, { taskClass: 'two', weight: 1 }],
  ]);
  const task = (word: number, component: string, isSuccess: boolean) => ({
    features: [word],
    components: new Map([[component, isSuccess]]),
  });
  const found = evidenceOf(
    [task(1, 'a', true), task(1, 'a', false), task(2, 'a', true), task(1, 'b', true), task(9, 'a', true)],
    classes,
    0.5,
  );
  t.deepEqual([...found.keys()], ['one', 'two']);
  const { wins, losses } = found.get('one')!.get('a')!;
  t.true(wins < losses, 'the later one counts more');
  t.deepEqual(found.get('two')!.get('a'), { wins: 1, losses: 0 });
  t.deepEqual(found.get('one')!.get('b'), { wins: 1, losses: 0 });
});

test('a class that somebody named stands before the one of the words', (t) => {
  const named = { features: [1], taskClass: 'refunds', components: new Map([['a', true]]) };
  t.deepEqual([...evidenceOf([named], new Map([[1, { taskClass: 'one', weight: 1 }]])).keys()], ['refunds']);
});
