/** Which URLs a provider loads by itself: patterns by type of media, `*` and `image/*` included. */
export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>;

/** Can the provider load this URL? Otherwise the content has to travel in the request. */
export function isSupportedUrl(supported: SupportedUrls, mediaType: string, url: URL): boolean {
  const address = url.href.toLowerCase();
  return Object.entries(supported).some(
    ([type, patterns]) => matchesType(type, mediaType) && patterns.some((pattern) => pattern.test(address)),
  );
}

function matchesType(type: string, mediaType: string): boolean {
  if (type === '*' || type === '*/*' || type === mediaType) return true;
  return type.endsWith('/*') && `${mediaType}/`.startsWith(type.slice(0, -1));
}
