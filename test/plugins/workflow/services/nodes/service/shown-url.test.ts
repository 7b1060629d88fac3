import test from 'ava';
import fc from 'fast-check';
import { shownUrl } from '../../../../../../plugins/workflow/services/nodes/service-task.ts';
import { maskConfig } from '../../../../../../plugins/workflow/services/views/redaction.ts';
import { CREDENTIAL, redaction } from '../kit.ts';

for (const [given, shown] of [
  ['https://a.example.com/b?c=d', 'https://a.example.com/b?c=d'],
  ['https://user:pw@a.example.com/b#frag', 'https://a.example.com/b'],
  [
    'https://a.example.com/?api_key=x&Token=y&sig=z&q=1',
    'https://a.example.com/?api_key=[REDACTED]&Token=[REDACTED]&sig=[REDACTED]&q=1',
  ],
  [
    'https://a.example.com/?%74oken=x&sig%6Eature=y',
    'https://a.example.com/?token=[REDACTED]&signature=[REDACTED]',
  ],
  ['https://a.example.com/?q=a%20b&q=%26', 'https://a.example.com/?q=a%20b&q=%26'],
] as const) {
  test(`${given} is shown as ${shown}`, (t) => {
    t.is(shownUrl(new URL(given), redaction), shown);
    // The input of the step is shown beside it.
    const { url } = maskConfig({ url: given });
    for (const [name, value] of new URL(given).searchParams) {
      const isHidden = new URL(shown).searchParams.get(name) === '[REDACTED]';
      if (isHidden) t.false(String(url).includes(`=${value}`), `${name} in ${url}`);
    }
  });
}

test('a credential is taken out wherever it stands', (t) => {
  t.false(
    shownUrl(new URL(`https://a.example.com/${CREDENTIAL}?q=${CREDENTIAL}`), redaction).includes(CREDENTIAL),
  );
});

test('no URL is shown with more than 1,000 characters', (t) => {
  fc.assert(
    fc.property(
      fc.webUrl({ withQueryParameters: true, size: '=' }),
      fc.string({ minLength: 900, maxLength: 3_000 }),
      (url, more) => {
        t.true(
          shownUrl(new URL(`${url}/${encodeURIComponent(more.toWellFormed())}`), redaction).length <= 1_000,
        );
      },
    ),
    { numRuns: 15 },
  );
});
