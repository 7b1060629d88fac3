import test from 'ava';
import { readableText } from '../../../../../../plugins/agent-engine/services/tools/http-fetch.ts';

for (const [title, html, text] of [
  [
    'blocks are lines',
    '<h1>Rain</h1><p>It <b>falls</b>.</p><ul><li>a<li>b</ul>',
    'Rain\n\nIt falls.\n\na\nb',
  ],
  ['scripts and styles are not read', 'a<script>if (a<b) x("</p>")</script>b<STYLE>p{}</style >c', 'abc'],
  [
    'the title stands first',
    '<html><head><title>Rain &amp; snow</title><meta x></head><body>It falls',
    'Rain & snow\nIt falls',
  ],
  ['a head that does not end hides nothing', '<head><p>text', 'text'],
  ['comments are not read', 'a<!-- <p>no</p> -->b', 'ab'],
  ['entities are letters', '&lt;p&gt; &#8364; &#x20AC; &euro; &nope; &amp;amp;', '<p> € € € &nope; &amp;'],
  ['numbers that are no letters are nothing', '&#0;&#xD800;&#9999999;x', 'x'],
  ['blanks are one blank', 'a \n\t b\u00a0c', 'a\nb c'],
  ['a tag that does not end takes the rest', 'a<p>b<a href="x', 'a\nb'],
  ['what only looks like a tag is text', '1 < 2 and 3 > 2', '1 < 2 and 3 > 2'],
  ['cells are apart', '<table><tr><td>a</td><td>b</td></tr></table>', 'a b'],
] as const) {
  test(title, (t) => t.is(readableText(html), text));
}

test('hostile pages cost no more than their length', (t) => {
  // The best of several: the machine has other work, too. Quadratic cost would be a matter of minutes.
  const time = (html: string) =>
    Math.min(
      ...Array.from({ length: 3 }, () => {
        const start = performance.now();
        readableText(html);
        return performance.now() - start;
      }),
    );
  for (const piece of [
    '<script',
    '<script>',
    '<svg>',
    '<svg><head>',
    '<!--',
    '<',
    '<p',
    '&#',
    '<title ',
    '</',
    '\n\n\n',
    '<iframe></x>',
  ]) {
    const small = piece.repeat(Math.ceil(250_000 / piece.length));
    const once = Math.max(1, time(small));
    const fourfold = time(small.repeat(4));
    t.true(fourfold < once * 16 + 500, `${piece}: ${once} ms, then ${fourfold} ms`);
  }
});
