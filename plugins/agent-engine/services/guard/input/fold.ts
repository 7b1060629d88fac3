const NOT_ASCII = /[^\0-\x7f]/;
/** Accents, Arabic vowel signs and hamzas, the Arabic lengthening stroke. Signs of Indic scripts are letters and stay. */
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
 * One spelling for what reads alike: lower case, compatibility forms (full width, mathematical alphabets, ligatures) as plain letters, no
 * accents. Linear; ASCII text costs one pass. Quotation marks, line breaks and punctuation stay. Pure.
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
