const TRIGGER = /[%&\\=]/;
/** Percent-encoding, JSON and C escapes, HTML entities, quoted-printable; each alternative has one way to match. */
const ESCAPE =
  /((?:%[0-9a-f]{2})+)|\\x([0-9a-f]{2})|\\u\{?([0-9a-f]{4,5})\}?|\\([nrt"'/])|&#x([0-9a-f]{1,6});?|&#(\d{1,7});?|&(lt|gt|amp|quot|apos|nbsp|Tab|NewLine|lpar|rpar|comma|period|colon);|((?:=[0-9A-F]{2})+)|=(\r?\n)/gi;
const ENTITIES: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  tab: ' ',
  newline: '\n',
  lpar: '(',
  rpar: ')',
  comma: ',',
  period: '.',
  colon: ':',
};
const CONTROL: Readonly<Record<string, string>> = { n: '\n', r: '\n', t: ' ', '"': '"', "'": "'", '/': '/' };

/**
 * The text with the escapes of URLs, JSON, HTML, C and mails (quoted-printable) resolved where they stand; itself when it has none. Never
 * longer than the text. Linear, pure.
 */
export function resolveEscapes(text: string): string {
  if (!TRIGGER.test(text)) return text;
  return text.replace(ESCAPE, (whole, percent, x, u, control, hexEntity, entity, named, printable) => {
    if (percent !== undefined) return Buffer.from(percent.replaceAll('%', ''), 'hex').toString('utf8');
    if (printable !== undefined) return Buffer.from(printable.replaceAll('=', ''), 'hex').toString('utf8');
    if (control !== undefined) return CONTROL[control.toLowerCase()] ?? whole;
    if (named !== undefined) return ENTITIES[named.toLowerCase()] ?? whole;
    const hex = x ?? u ?? hexEntity;
    if (hex === undefined && entity === undefined) return '';
    const code = hex === undefined ? Number(entity) : Number.parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : ' ';
  });
}
