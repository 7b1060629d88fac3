const NOT_ASCII = /[^\0-\x7f]/;
/**
 * Accents, Arabic vowel signs and hamzas, the Arabic lengthening stroke. Signs of Indic scripts are letters and stay.
 */
const DIACRITICS = /[\u0300-\u036f\u0640\u064b-\u0655\u0670]/g;
/** Letters that no normalization form takes apart. */
const UNDECOMPOSED: Readonly<Record<string, string>> = {
  ß: 'ss',
  ı: 'i',
  ł: 'l',
  ø: 'o',
  đ: 'd',
  æ: 'ae',
  œ: 'oe',
  '’': "'",
  '‘': "'",
};
const UNDECOMPOSED_LETTER = /[ßıłøđæœ’‘]/g;

/**
 * One spelling for what reads alike: lower case, compatibility forms (full width, mathematical alphabets, ligatures) as
 * plain letters, no accents. Linear; ASCII text costs one pass. Quotation marks, line breaks and punctuation stay.
 * Pure.
 */
export function fold(text: string): string {
  if (!NOT_ASCII.test(text)) return text.toLowerCase();
  return text
    .normalize('NFKD')
    .replace(DIACRITICS, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(DIACRITICS, '')
    .replace(UNDECOMPOSED_LETTER, (letter) => UNDECOMPOSED[letter] ?? letter);
}

/** Letters and signs that are drawn like a Latin letter, each followed by it. */
const PAIRS = [
  // Cyrillic; н is left out, or the Russian "не" would read as "he".
  'аaвbеeкkмmоoрpсcтtуyхxіiјjѕsԁdԛqѡwһhѵvё' + 'eґr',
  // Greek.
  'αaβbεeηnιiκkνvοoρpτtυuχxωwγy',
  // Armenian and Cherokee.
  'օoսuհhոnցgսu',
  // Small capitals and phonetic letters.
  'ᴀaʙbᴄcᴅdᴇeꜰfɢgʜhɪiᴊjᴋkʟlᴍmɴnᴏoᴘpʀrꜱsᴛtᴜuᴠvᴡwʏyᴢzɑaɡgɩi',
  // Digits and signs in place of letters.
  '0o1i3e4a5s7t@a$s',
].join('');

/**
 * The letters as which look-alikes are read. The letter l is one with i, since 1 and | stand for both: lexicon and text
 * are read through the same table, so nothing else changes.
 */
export const LOOK_ALIKES: ReadonlyMap<string, string> = lookAlikes();

function lookAlikes(): Map<string, string> {
  const table = new Map([['l', 'i']]);
  for (let index = 0; index < PAIRS.length; index += 2) {
    const letter = PAIRS[index + 1]!;
    table.set(PAIRS[index]!, letter === 'l' ? 'i' : letter);
  }
  return table;
}

/** The letter as which a folded character is read; itself where it looks like no other. Pure. */
export function readAs(character: string): string {
  return LOOK_ALIKES.get(character) ?? character;
}
