import test from 'ava';
import { chooseClasses } from '../../../../plugins/evolution/rules/choose-classes.ts';
import { DISCOUNT } from '../../../../plugins/evolution/rules/confidence.ts';
import type { TaskOutcome } from '../../../../plugins/evolution/rules/evidence.ts';
import { featuresOf } from '../../../../plugins/evolution/rules/features.ts';
import { classOf, NO_CLASSES } from '../../../../plugins/evolution/rules/task-classes.ts';
import { KINDS, taskText } from '../../../../scripts/bench/evolution/tasks.ts';
import { randomOf } from '../../../../scripts/bench/evolution/world.ts';

/** Tasks of all kinds in turn; for the first kinds one tool works, for the others another. */
function tasksOf(count: number): readonly (TaskOutcome & { readonly kind: number })[] {
  const random = randomOf('choose-classes');
  return Array.from({ length: count }, (_, index) => {
    const kind = index % KINDS.length;
    const features = featuresOf(taskText(KINDS[kind]!, random));
    const tool = random() < 0.5 ? 'a' : 'b';
    return { kind, features, components: new Map([[tool, (tool === 'a') === kind < 3]]) };
  });
}

test('classes foretell which tool works, and the same tasks give the same classes', (t) => {
  const tasks = tasksOf(240);
  const classes = chooseClasses(tasks, NO_CLASSES, DISCOUNT);
  const right = tasks.filter(({ features, kind }) => {
    const members = tasks.filter((other) => classOf(classes, other.features) === classOf(classes, features));
    const isFirst = members.filter((other) => other.kind < 3).length * 2 > members.length;
    return isFirst === kind < 3;
  });
  t.true(right.length / tasks.length > 0.85, `${right.length} of ${tasks.length}`);
  t.deepEqual(chooseClasses(tasks, NO_CLASSES, DISCOUNT), classes);
});

const used = (text: string, tool = 'a') => ({
  features: featuresOf(text),
  components: new Map([[tool, true]]),
});
const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

test('tasks that are all of one kind are one class, also where their names differ, and it stays when another kind comes', (t) => {
  const same = times(30, () => used('use current_time and tell me what time it is'));
  const classes = chooseClasses(same, NO_CLASSES, DISCOUNT);
  const taskClass = classOf(classes, same[0]!.features);
  t.truthy(taskClass);
  t.is(classOf(classes, featuresOf('convert the currency')), undefined);
  t.is(chooseClasses(same.slice(0, 7), NO_CLASSES, DISCOUNT).size, 0, 'a few tasks show no kind');

  const cities = ['Berlin', 'Oslo', 'Lima', 'Kyoto'];
  const named = times(12, (index) => used(`what time is it in ${cities[index % 4]}`));
  t.truthy(classOf(chooseClasses(named, NO_CLASSES, DISCOUNT), featuresOf('what time is it in Rome')));

  const mixed = [...same, ...times(20, () => used('translate the letter to French', 'b'))];
  const later = chooseClasses(mixed, classes, DISCOUNT);
  t.is(classOf(later, same[0]!.features), taskClass);
  t.not(classOf(later, mixed.at(-1)!.features), taskClass);
});

test('tasks that share no word are not taken for one kind', (t) => {
  const words = ['time', 'weather'];
  t.is(
    chooseClasses(
      times(20, (index) => used(words[index % 2]!)),
      NO_CLASSES,
      DISCOUNT,
    ).size,
    0,
  );
});

test('no tasks, and tasks without words or tools, have no classes', (t) => {
  t.is(chooseClasses([], NO_CLASSES, DISCOUNT).size, 0);
  const empty = Array.from({ length: 9 }, () => ({ features: [], components: new Map<string, boolean>() }));
  t.is(chooseClasses(empty, NO_CLASSES, DISCOUNT).size, 0);
});
