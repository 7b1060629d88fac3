import test from 'ava';
import Type from 'typebox';
import { field } from '../../../foundation/config/field.ts';
import { settingsTable, settingsTableFile } from '../../../scripts/generate/settings-table.ts';

const plugin = (name: string) => ({
  name,
  summary: 'For the test',
  config: Type.Object({
    shared: field.choice(['a', 'b'], { env: 'SHARED_MODE', default: 'a', description: 'Either a|b' }),
    own: field.duration({ env: `${name.toUpperCase()}_WAIT`, unset: 'for ever', description: 'Waits' }),
    unlisted: field.integer({ default: 1, description: 'Only in the file' }),
  }),
});

test('the table has one row for each variable, with all its readers', (t) => {
  const table = settingsTable([plugin('one'), plugin('two')]);
  t.true(table.includes('| `SHARED_MODE` | Either a\\|b | `a` | plugin `one`, plugin `two` |'));
  t.true(table.includes('| `ONE_WAIT` | Waits | for ever | plugin `one` |'));
  t.true(table.includes('| `SAAS_API_PORT` |'));
  t.false(table.includes('Only in the file'));
});

test('readers that say different things of one variable are refused', (t) => {
  const two = plugin('two');
  two.config.properties.shared = field.choice(['a', 'b'], {
    env: 'SHARED_MODE',
    default: 'a',
    description: 'Something else',
  });
  t.throws(() => settingsTable([plugin('one'), two]), { message: /plugin `two` says of SHARED_MODE/ });
});

test('only what stands between the markers is replaced, and a second time changes nothing', (t) => {
  const { render } = settingsTableFile([]);
  const text = 'before\n<!-- settings:start -->\nold\n<!-- settings:end -->\nafter\n';
  const once = render(text);
  t.is(once, text.replace('old', settingsTable([])));
  t.is(render(once), once);
});

test('a README without the markers is an error', (t) => {
  t.throws(() => settingsTableFile([]).render('# Title\n'), { message: /markers/ });
});
