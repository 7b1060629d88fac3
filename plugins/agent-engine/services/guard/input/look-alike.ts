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

/** The letter l is one with i, since 1 and | stand for both. Lexicon and text are read through the same table, so nothing else changes. */
const table = new Map<string, string>([['l', 'i']]);
for (let index = 0; index < PAIRS.length; index += 2) {
  const letter = PAIRS[index + 1]!;
  table.set(PAIRS[index]!, letter === 'l' ? 'i' : letter);
}

/** The letter as which a folded character is read; itself where it looks like no other. Pure. */
export function readAs(character: string): string {
  return table.get(character) ?? character;
}
