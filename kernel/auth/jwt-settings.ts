/** Where the keys of JWTs come from, and what the tokens must say (decisions 1.14). */
export interface JwtSettings {
  /** `SVC_JWT_PUBLIC_KEY`: an RSA public key in PEM, or the name of a file that holds it. */
  readonly publicKey?: string;
  /** `SVC_JWT_JWKS_URL`: where the issuer publishes its keys. */
  readonly jwksUrl?: string;
  /** `aud` that a token must name; default: not checked. */
  readonly audience?: string;
  /** `iss` that a token must have; default: not checked. */
  readonly issuer?: string;
  /** Milliseconds after a read of the JWKS before an unknown key id causes another one; default 30 000. */
  readonly jwksCooldown?: number;
}
