import test from 'ava';
import Type from 'typebox';
import { readPayload } from '../../../foundation/messages/payload.ts';

test('what comes from the wire is read with suspicion', (t) => {
  const schema = Type.Object({ n: Type.Integer() });
  t.deepEqual(readPayload(schema, '{"n":1}'), { payload: { n: 1 } });
  for (const text of ['{"n":"1"}', '{}', 'null', '[]', '{"n":', '', undefined, { n: 1 }]) {
    t.true('problem' in readPayload(schema, text));
  }
});
