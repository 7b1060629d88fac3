/** The part of `proxy-addr` 2 that the gateway uses; the package ships no types. */
declare module 'proxy-addr' {
  type Trust = (address: string, hop: number) => boolean;
  interface AddressedRequest {
    readonly socket: { readonly remoteAddress?: string | undefined };
    readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  }
  const proxyAddr: {
    /** Makes the trust function of addresses, CIDRs and range names. Throws a TypeError that names a bad entry. */
    compile(trusted: readonly string[]): Trust;
    /** The socket's address and those of `X-Forwarded-For`, nearest first, up to the first that is not trusted. */
    all(request: AddressedRequest, trust: Trust): string[];
  };
  export default proxyAddr;
}
