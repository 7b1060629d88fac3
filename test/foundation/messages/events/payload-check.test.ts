import test from 'ava';
import Type from 'typebox';
import { PayloadCheck } from '../../../../foundation/messages/events/payload-check.ts';

test('a payload that does not fit is told by its member', (t) => {
  const check = new PayloadCheck();
  const schema = Type.Object({
    id: Type.String({ format: 'uuid' }),
    what: Type.Union([Type.Literal('a'), Type.Literal('b')]),
    more: Type.Optional(Type.Array(Type.Integer())),
  });
  const good = { id: '00000000-0000-0000-0000-000000000001', what: 'a' };
  t.is(check.problem(schema, good), undefined);
  t.is(check.problem(schema, { ...good, added: 'by a newer version' }), undefined);
  t.regex(check.problem(schema, { ...good, id: 'secret-text' }) ?? '', /^\/id (?!.*secret-text)/);
  t.regex(check.problem(schema, { ...good, what: 'secret-text' }) ?? '', /^\/what (?!.*secret-text)/);
  t.regex(check.problem(schema, { ...good, more: [1, 'secret-text'] }) ?? '', /^\/more\/1 (?!.*secret-text)/);
  t.is(check.problem(schema, { id: good.id }), "the payload must have required property 'what'");
  t.is(check.problem(schema, null), 'the payload must be object');
});

test('schemas of one $id do not hinder each other', (t) => {
  const check = new PayloadCheck();
  const [one, two] = [Type.Integer({ $id: 'same' }), Type.String({ $id: 'same' })];
  t.is(check.problem(one, 1), undefined);
  t.is(check.problem(two, 'x'), undefined);
  t.is(check.problem(two, 1), 'the payload must be string');
});

test('a payload is left as it is', (t) => {
  const payload = { n: '1' };
  const schema = Type.Object({ n: Type.String(), more: Type.Integer({ default: 5 }) });
  t.is(new PayloadCheck().problem(schema, payload), "the payload must have required property 'more'");
  t.deepEqual(payload, { n: '1' });
});
