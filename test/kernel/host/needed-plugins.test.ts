import test from 'ava';
import { serviceRef } from '../../../kernel/api/refs.ts';
import { ownerOf, withNeeded } from '../../../kernel/host/needed-plugins.ts';
import { testPlugin } from '../../support/plugins.ts';

const Engine = serviceRef<object>('engine.engine');
const Fuel = serviceRef<object>('fuel.fuel');
const Radio = serviceRef<object>('radio.radio');
const fuel = testPlugin('fuel', { offers: [Fuel] });
const engine = testPlugin('engine', { offers: [Engine], needs: { fuel: Fuel } });
const radio = testPlugin('radio', { offers: [Radio] });
const car = testPlugin('car', { needs: { engine: Engine }, wants: { radio: Radio } });

test('the plugins that are named bring along what they need, also through others, and not what they want', (t) => {
  const { names, missing } = withNeeded(['car'], [radio, car, fuel, engine]);
  t.deepEqual(names, ['car', 'engine', 'fuel']);
  t.deepEqual(missing, []);
});

test('what nobody offers is missing, and is said to be of the plugin that its name begins with', (t) => {
  t.deepEqual(withNeeded(['car'], [car]), { names: ['car'], missing: ['engine.engine'] });
  t.deepEqual(withNeeded(['car'], [car, engine]).missing.map(ownerOf), ['fuel']);
});

test('where nothing is named nothing is limited', (t) => {
  t.deepEqual(withNeeded([], [car, engine]), { names: [], missing: [] });
});
