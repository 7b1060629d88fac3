import { readFile } from 'node:fs/promises';
import { access, type Route, reply, route, Type } from 'agent-gateway';
import { type Gate, readable } from './callers.ts';

/** Milliseconds between two snapshots at most: nodes expire without any event. */
const EVERY_MS = 2_000;
/** Milliseconds between two snapshots at least, however often the state changes. */
const AT_MOST_EVERY_MS = 250;
const tag = 'hub-dashboard';

/**
 * Scripts and styles come from files of this origin, nothing inline and nothing evaluated; no other site frames the
 * page or sends its forms.
 */
const HEADERS = {
  'cache-control': 'no-cache',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const;

const FILES = [
  ['/dashboard', 'index.html', 'text/html; charset=utf-8', 'Show the state of the hub'],
  ['/dashboard/app.js', 'app.js', 'text/javascript; charset=utf-8', 'Load the script of the dashboard'],
  ['/dashboard/style.css', 'style.css', 'text/css; charset=utf-8', 'Load the style of the dashboard'],
  ['/dashboard/icon.svg', 'icon.svg', 'image/svg+xml', 'Load the icon of the dashboard'],
] as const;

/** The dashboard: a page without data, and the stream of its data, for callers that may read the hub. */
export function dashboardRoutes({ load }: Gate): readonly Route[] {
  return [
    ...FILES.map(([path, file, answerType, summary]) =>
      route({
        access: access.public(),
        method: 'GET',
        path,
        tag,
        rateLimit: 'none',
        answerType,
        summary,
        schema: {
          responses: { 200: Type.String({ examples: ['…'] }) },
          answerHeaders: Type.Object(
            Object.fromEntries(Object.keys(HEADERS).map((name) => [name, Type.String()])),
          ),
        },
        handle: async () => reply.text(await contentOf(file), undefined, HEADERS),
      }),
    ),
    route({
      ...readable,
      method: 'GET',
      path: '/api/v1/dashboard/stream',
      tag,
      summary: 'Follow the state of the hub: nodes, genes and subscriptions',
      countsAsStream: () => true,
      schema: {
        stream: Type.String({
          description:
            'Events `state`, each with the whole state: `{nodes, genes, subscriptions}` of `{total, items}`',
          examples: ['event: state\ndata: {"nodes":{"total":0,"items":[]}}\n\n'],
        }),
      },
      handle: async () => {
        const { snapshots } = await load();
        return reply.sse(async (stream) => {
          let shown = '';
          do {
            const data = JSON.stringify(await snapshots.take());
            if (data !== shown) await stream.send({ event: 'state', data });
            shown = data;
          } while (await snapshots.nextChange(AT_MOST_EVERY_MS, EVERY_MS, stream.signal));
        });
      },
    }),
  ];
}

/** Each file is read at its first request, and kept in memory. */
const contents = new Map<string, Promise<string>>();

function contentOf(file: string): Promise<string> {
  const known = contents.get(file);
  if (known !== undefined) return known;
  const content = readFile(new URL(`../dashboard/${file}`, import.meta.url), 'utf8');
  contents.set(file, content);
  content.catch(() => contents.delete(file));
  return content;
}
