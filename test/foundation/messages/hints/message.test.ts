import test from 'ava';
import Type from 'typebox';
import { defineHint } from '../../../../foundation/messages/hints/hints.ts';

test('a queue is named by lower-case letters, digits, points and hyphens', (t) => {
  const schema = Type.Object({ run_id: Type.String() });
  t.deepEqual(defineHint('workflow.steps-2', schema), { kind: 'hint', id: 'workflow.steps-2', schema });
  for (const id of ['', 'Workflow', 'a:b', 'a_b', '.a', 'a b', 'x'.repeat(101)]) {
    t.throws(() => defineHint(id, schema), { instanceOf: TypeError });
  }
});
