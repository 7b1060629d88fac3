/** A way in which a text stands in another. */
export interface Carrier {
  readonly title: string;
  readonly carry: (text: string) => string;
  /** The text that a carrier holds; throws where it is none. */
  readonly unwrap: (carried: string) => string;
  /** Whether a credential in it takes all of it along. */
  readonly isWhole?: boolean;
}

const same = (text: string) => text;
const json = (text: string) => JSON.stringify({ before: 'a b', value: text, after: ['c', 1] });
const heldBy = (carried: string): string => JSON.parse(carried).value;
const base64 = (encoding: 'base64' | 'base64url', text: string) => Buffer.from(text).toString(encoding);
/** What is left of base64 that was redacted. */
const unwrapBase64 = (carried: string) => `${carried} ${Buffer.from(carried, 'base64').toString('latin1')}`;
const unescaped = (carried: string) =>
  carried.replaceAll(/\\u([0-9a-f]{4})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
/** Each line of it behind a mark; a line break ends the text that comes before. */
const lines = (mark: string, text: string) => text.replaceAll(/^/gm, mark);

/** How tools, models and clients write a text down in another one. */
export const CARRIERS: readonly Carrier[] = [
  { title: 'plain', carry: same, unwrap: same },
  { title: 'JSON', carry: json, unwrap: heldBy },
  { title: 'JSON with indentation', carry: (text) => JSON.stringify([{ text }], null, 2), unwrap: same },
  {
    title: 'JSON in JSON',
    carry: (text) => json(json(text)),
    unwrap: (carried) => heldBy(heldBy(carried)),
  },
  {
    title: 'JSON in JSON in JSON',
    carry: (text) => json(json(json(text))),
    unwrap: (carried) => heldBy(heldBy(heldBy(carried))),
  },
  {
    title: 'JSON with the escapes of other languages',
    carry: (text) =>
      json(text)
        .replaceAll('/', '\\/')
        .replaceAll(/[=&<>'+]|\\n/g, (char) => {
          const code = char === '\\n' ? 10 : char.charCodeAt(0);
          return `\\u${code.toString(16).padStart(4, '0')}`;
        }),
    unwrap: heldBy,
  },
  {
    title: 'JSON of escapes alone',
    carry: (text) =>
      `"${text.replaceAll(/./gs, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`,
    unwrap: unescaped,
  },
  {
    title: 'strings of code',
    carry: (text) => JSON.stringify(text).replaceAll('\\n', '\\n" +\n  "'),
    unwrap: (carried) => carried.replaceAll(/" \+\n +"/g, ''),
  },
  { title: 'CRLF in JSON', carry: (text) => json(text.replaceAll('\n', '\r\n')), unwrap: heldBy },
  {
    title: 'base64 of JSON',
    carry: (text) => base64('base64', json(text)),
    unwrap: unwrapBase64,
    isWhole: true,
  },
  {
    title: 'URL-safe base64 of an array',
    carry: (text) => base64('base64url', JSON.stringify(['é', text])),
    unwrap: unwrapBase64,
    isWhole: true,
  },
  {
    title: 'base64 of a JSON string',
    carry: (text) => base64('base64', JSON.stringify(text)),
    unwrap: unwrapBase64,
    isWhole: true,
  },
  {
    title: 'lines of base64 of JSON',
    carry: (text) => base64('base64', json(text)).replaceAll(/.{76}(?=.)/g, '$&\n'),
    unwrap: (carried) => unwrapBase64(carried.replaceAll('\n', '')),
    isWhole: true,
  },
  {
    title: 'base64 of JSON in JSON',
    carry: (text) => json(base64('base64', json(text))),
    unwrap: (carried) => unwrapBase64(heldBy(carried)),
  },
  { title: 'URL', carry: encodeURIComponent, unwrap: decodeURIComponent },
  { title: 'URL of JSON', carry: (text) => encodeURIComponent(json(text)), unwrap: decodeURIComponent },
  {
    title: 'URL in a URL',
    carry: (text) => encodeURIComponent(encodeURIComponent(text)),
    unwrap: (carried) => decodeURIComponent(decodeURIComponent(carried)),
  },
  {
    title: 'form',
    carry: (text) => `${new URLSearchParams({ a: 'b', note: text, z: '1' })}`,
    unwrap: (carried) => new URLSearchParams(carried).get('note')!,
  },
  {
    title: 'percent escapes alone',
    carry: (text) => Buffer.from(text).toString('hex').replaceAll(/../g, '%$&'),
    unwrap: decodeURIComponent,
  },
  { title: 'Markdown quote', carry: (text) => lines('> ', text), unwrap: same },
  { title: 'quote in a quote', carry: (text) => lines('> > ', text), unwrap: same },
  { title: 'indented block', carry: (text) => lines('    ', text), unwrap: same },
  { title: 'fenced block', carry: (text) => `\`\`\`\n${text}\n\`\`\``, unwrap: same },
  {
    title: 'fenced block in a list',
    carry: (text) => `- \`\`\`pem\n${lines('  ', text)}\n  \`\`\``,
    unwrap: same,
  },
  { title: 'Markdown quote in JSON', carry: (text) => json(lines('> ', text)), unwrap: heldBy },
  { title: 'indented block in JSON in JSON', carry: (text) => json(json(lines('\t', text))), unwrap: same },
  {
    title: 'Markdown escapes',
    carry: (text) => text.replaceAll(/[_*.+-]/g, '\\$&'),
    unwrap: (carried) => carried.replaceAll(/\\([^A-Za-z0-9])/g, '$1'),
  },
];
