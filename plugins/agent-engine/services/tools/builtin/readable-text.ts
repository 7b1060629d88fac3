/** Elements whose content is not read. */
const SKIPPED = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'head',
  'iframe',
  'object',
  'title',
]);
/** Those that take the rest of the page with them when they do not end. */
const SWALLOWING = new Set(['script', 'style', 'title']);
/** Elements that begin a line of their own. */
const BLOCKS = new Set(
  'address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tbody tfoot thead title tr ul'.split(
    ' ',
  ),
);
const NAMED: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' },
  ...{ ndash: '–', mdash: '—', hellip: '…', copy: '©', euro: '€', shy: '' },
};

const TAG = /<(?:!--|[!?]|(\/?)([a-zA-Z][a-zA-Z0-9]*))/g;
const ENTITY = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/g;

/**
 * The text of an HTML page as a reader sees it, roughly: without tags, scripts and styles, one line for each
 * block. One pass, linear in the length; not a sanitizer.
 */
export function readableText(html: string): string {
  const title = titleOf(html);
  /** Elements that end nowhere: looking for their ends again and again would make the pass quadratic. */
  const endless = new Set<string>();
  function skip(name: string, from: number): number {
    if (endless.has(name)) return from;
    const close = new RegExp(`</${name}\\b`, 'gi');
    close.lastIndex = from;
    const end = close.exec(html)?.index;
    if (end !== undefined) return end;
    endless.add(name);
    return SWALLOWING.has(name) ? html.length : from;
  }
  const pieces: string[] = title === '' ? [] : [title, '\n'];
  let at = 0;
  TAG.lastIndex = 0;
  for (let tag = TAG.exec(html); tag !== null; tag = TAG.exec(html)) {
    pieces.push(html.slice(at, tag.index));
    const isComment = tag[0] === '<!--';
    const end = html.indexOf(isComment ? '-->' : '>', TAG.lastIndex);
    // A tag that does not end takes the rest of the page with it, as in browsers.
    if (end < 0) return tidy(pieces.join(''));
    at = end + (isComment ? 3 : 1);
    const name = tag[2]?.toLowerCase();
    if (name !== undefined) {
      if (BLOCKS.has(name)) pieces.push('\n');
      else if (name === 'td' || name === 'th') pieces.push(' ');
      if (tag[1] === '' && SKIPPED.has(name)) at = skip(name, at);
    }
    TAG.lastIndex = at;
  }
  pieces.push(html.slice(at));
  return tidy(pieces.join(''));
}

function titleOf(html: string): string {
  const start = /<title\b[^<>]{0,200}>/i.exec(html);
  if (start === null) return '';
  const from = start.index + start[0].length;
  return html
    .slice(from, from + 300)
    .split('<')[0]!
    .trim();
}

function tidy(text: string): string {
  return decode(text)
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

function decode(text: string): string {
  return text.replace(ENTITY, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return Object.hasOwn(NAMED, name) ? NAMED[name]! : whole;
    const code = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal);
    const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    return isCharacter ? String.fromCodePoint(code) : '';
  });
}
