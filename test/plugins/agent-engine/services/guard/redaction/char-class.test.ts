import test from 'ava';
import {
  anyExcept,
  type CharClass,
  caseless,
  chars,
  except,
  literal,
  plus,
  unitOf,
  visibleExcept,
} from '../../../../../../plugins/agent-engine/services/guard/redaction/char-class.ts';

/** Those of the characters that are in the class. */
function members(set: CharClass, text: string): string {
  return [...text].filter((char) => set[unitOf(char.charCodeAt(0))] === 1).join('');
}

const ALL = 'aczAZ059-_.@ \n\u0000é密';

test('a class holds what its list says, ranges and a last hyphen among it', (t) => {
  t.is(members(chars('a-c5-'), ALL), 'ac5-');
  t.is(members(plus(chars('a-z'), '_-'), ALL), 'acz-_');
  t.is(members(except(chars('a-z'), 'cz'), ALL), 'a');
  t.is(members(chars(''), ALL), '');
});

test('everything but a list reaches beyond ASCII, and is visible where it should be', (t) => {
  t.is(members(visibleExcept('@a'), ALL), 'czAZ059-_.é密');
  t.is(members(anyExcept('a-z'), ALL), 'AZ059-_.@ \n\u0000é密');
});

test('a text is a class for each of its characters, of one case or of both', (t) => {
  t.deepEqual(
    literal('a-').map((set) => members(set, 'aA-_')),
    ['a', '-'],
  );
  t.deepEqual(
    caseless('a-').map((set) => members(set, 'aA-_')),
    ['aA', '-'],
  );
});
