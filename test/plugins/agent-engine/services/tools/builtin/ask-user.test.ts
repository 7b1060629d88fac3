import test from 'ava';
import { askUser } from '../../../../../../plugins/agent-engine/services/tools/builtin-tools.ts';
import { toolContext } from '../../tool-context.ts';

test('a question asks for text, or for one of its options', async (t) => {
  const common = { name: 'answer', label: 'Which?', required: true } as const;
  t.deepEqual(await askUser.invoke({ question: 'Which?' }, toolContext()), {
    question: { reason: 'Which?', fields: [{ ...common, type: 'text' }] },
  });
  t.deepEqual(await askUser.invoke({ question: 'Which?', options: ['a', 'b'] }, toolContext()), {
    question: { reason: 'Which?', fields: [{ ...common, type: 'select', options: ['a', 'b'] }] },
  });
});
