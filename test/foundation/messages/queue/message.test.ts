import test from 'ava';
import Type from 'typebox';
import { defineQueue } from '../../../../foundation/messages/queue/queue.ts';

test('a queue is named by lower-case letters, digits, points and hyphens', (t) => {
  const schema = Type.Object({ run_id: Type.String() });
  t.deepEqual(defineQueue('workflow.steps-2', schema), { kind: 'queue', id: 'workflow.steps-2', schema });
  for (const id of ['', 'Workflow', 'a:b', 'a_b', '.a', 'a b', 'x'.repeat(101)]) {
    t.throws(() => defineQueue(id, schema), { instanceOf: TypeError });
  }
});
