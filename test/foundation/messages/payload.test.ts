import test from 'ava';
import Type from 'typebox';
import { payloadProblem } from '../../../foundation/base/json-schema.ts';
import { readPayload } from '../../../foundation/messages/payload.ts';

test('a payload that does not fit is told by its member', (t) => {
  const schema = Type.Object({
    id: Type.String({ format: 'uuid' }),
    what: Type.Union([Type.Literal('a'), Type.Literal('b')]),
    more: Type.Optional(Type.Array(Type.Integer())),
  });
  const good = { id: '00000000-0000-0000-0000-000000000001', what: 'a' };
  t.is(payloadProblem(schema, good), undefined);
  t.is(payloadProblem(schema, { ...good, added: 'by a newer version' }), undefined);
  t.regex(payloadProblem(schema, { ...good, id: 'secret-text' }) ?? '', /^\/id (?!.*secret-text)/);
  t.regex(payloadProblem(schema, { ...good, what: 'secret-text' }) ?? '', /^\/what (?!.*secret-text)/);
  t.regex(
    payloadProblem(schema, { ...good, more: [1, 'secret-text'] }) ?? '',
    /^\/more\/1 (?!.*secret-text)/,
  );
  t.is(payloadProblem(schema, { id: good.id }), "the payload must have required property 'what'");
  t.is(payloadProblem(schema, null), 'the payload must be object');
});

test('schemas of one $id do not hinder each other', (t) => {
  const [one, two] = [Type.Integer({ $id: 'same' }), Type.String({ $id: 'same' })];
  t.is(payloadProblem(one, 1), undefined);
  t.is(payloadProblem(two, 'x'), undefined);
  t.is(payloadProblem(two, 1), 'the payload must be string');
});

test('a payload is left as it is', (t) => {
  const payload = { n: '1' };
  const schema = Type.Object({ n: Type.String(), more: Type.Integer({ default: 5 }) });
  t.is(payloadProblem(schema, payload), "the payload must have required property 'more'");
  t.deepEqual(payload, { n: '1' });
});

test('what comes from the wire is read with suspicion', (t) => {
  const schema = Type.Object({ n: Type.Integer() });
  t.deepEqual(readPayload(schema, '{"n":1}'), { payload: { n: 1 } });
  for (const text of ['{"n":"1"}', '{}', 'null', '[]', '{"n":', '', undefined, { n: 1 }]) {
    t.true('problem' in readPayload(schema, text));
  }
});
