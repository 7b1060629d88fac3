import test from 'ava';
import { fold } from '../../../../../../plugins/agent-engine/services/guard/input/fold.ts';

for (const { text, folded } of [
  { text: 'IGNORE All', folded: 'ignore all' },
  { text: 'ｉｇｎｏｒｅ', folded: 'ignore' },
  { text: '𝐢𝐠𝐧𝐨𝐫𝐞', folded: 'ignore' },
  { text: 'précédentes', folded: 'precedentes' },
  { text: 'i\u0301gnore\u0301', folded: 'ignore' },
  { text: 'İstemi ışık', folded: 'istemi isik' },
  { text: 'Größe', folded: 'grosse' },
  { text: 'ﬁlter', folded: 'filter' },
  { text: 'أَنْسَ', folded: 'انس' },
  { text: 'が指示', folded: 'が指示' },
  { text: '한국어', folded: '한국어' },
  { text: 'निर्देश', folded: 'निर्देश' },
]) {
  test(`"${text}" reads as "${folded}"`, (t) => t.is(fold(text), folded));
}

test('punctuation and line breaks stay where they are', (t) => {
  t.is(fold('“A”\n«b»: c'), '“a”\n«b»: c');
});
