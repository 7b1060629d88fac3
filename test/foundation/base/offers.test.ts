import test from 'ava';
import { Type } from 'typebox';
import { isOfferName, lacksOffer, offerNamed, requireOwnName } from '../../../foundation/base/offers.ts';
import { annotationOf, field } from '../../../foundation/config/field.ts';
import { decodeText } from '../../../foundation/config/field-codec.ts';

test('a name of an offer says the plugin and the name', (t) => {
  for (const name of ['plugin/acme/llm', 'plugin/a-b1/x.y_z-1', `plugin/a/${'x'.repeat(141)}`])
    t.true(isOfferName(name), name);
  const wrong = ['plugin/acme', 'plugin/acme/', 'plugin/Acme/x', 'acme/x', 'plugin/a/b/c', 'plugin/a/b\n'];
  for (const name of [...wrong, `plugin/a/${'x'.repeat(142)}`]) t.false(isOfferName(name), name);
});

test('of two offers with one name the first counts, and a missing one is told with the nearest', (t) => {
  const offers = [
    { name: 'plugin/acme/one', place: 1 },
    { name: 'plugin/acme/one', place: 2 },
  ];
  t.is(offerNamed('plugin/acme/one', offers)?.place, 1);
  t.is(offerNamed('plugin/acme/two', offers), undefined);
  t.is(
    lacksOffer('THE_SETTING', 'plugin/acme/onee', offers),
    'THE_SETTING names plugin/acme/onee, which no plugin that runs offers, did you mean plugin/acme/one?',
  );
});

test('a choice takes the names of offers only where it says so', (t) => {
  const config = Type.Object({
    open: field.choice(['a'], { offers: true, default: 'a', description: 'One' }),
    closed: field.choice(['a'], { default: 'a', description: 'Two' }),
  });
  const { open, closed } = config.properties;
  t.deepEqual(decodeText('plugin/acme/x', annotationOf(open)!), { value: 'plugin/acme/x' });
  t.deepEqual(decodeText('b', annotationOf(open)!), {
    problem: '"b" is not one of a, plugin/<plugin>/<name>',
  });
  t.deepEqual(decodeText('plugin/acme/x', annotationOf(closed)!), {
    problem: '"plugin/acme/x" is not one of a',
  });
});

test('what a plugin offers is called after it', (t) => {
  for (const value of [
    { name: 'plugin/acme/llm' },
    { prefix: 'plugin/acme/' },
    { name: 'anything' },
    { prefix: 'builtin/' },
    { name: 3 },
    'plugin/other/llm',
  ])
    t.notThrows(() => requireOwnName('acme', value));
  for (const nothing of [null, undefined])
    t.throws(() => requireOwnName('acme', nothing), {
      message: /^acme contributes (null|undefined) \(is it exported/,
    });
  for (const given of ['plugin/other/llm', 'plugin/acmes/llm', 'plugin/', 'plugin/ac'])
    for (const value of [{ name: given }, { prefix: given }, { name: 'plugin/acme/x', prefix: given }])
      t.throws(() => requireOwnName('acme', value), {
        message: `acme contributes ${given}: what it contributes is called plugin/acme/…`,
      });
});
