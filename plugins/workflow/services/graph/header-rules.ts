/** Fields of the connection (RFC 9110, 7.6.1), and those that come from the URL and the body: the gateway makes them. Lower-case. */
export const GATEWAY_HEADERS: ReadonlySet<string> = new Set(
  'connection content-length expect host http2-settings keep-alive proxy-authorization proxy-connection te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
);

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
/** No line feed ends a field early, and nothing needs an encoding that the other side has to guess. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** True for a text that can be the name of a header field (RFC 9110, 5.1). */
export function isHeaderName(text: string): boolean {
  return NAME.test(text);
}

/** True for a text that can be sent as the value of a header field, or as a part of one: ISO 8859-1 without control characters but tabs. */
export function isHeaderValue(text: string): boolean {
  return VALUE.test(text);
}
