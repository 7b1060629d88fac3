import { MODEL_PROVIDER_TOKENS } from './model-provider-tokens.ts';
import { NAMED_SECRETS } from './named-secrets.ts';
import type { CredentialKind } from './pattern.ts';
import { STANDARD_CREDENTIALS } from './standard-credentials.ts';
import { VENDOR_TOKENS } from './vendor-tokens.ts';

/** All kinds that are redacted. Of two that begin at the same place, the earlier one gives the marker its name. */
export const CREDENTIAL_KINDS: readonly CredentialKind[] = [
  ...VENDOR_TOKENS,
  ...MODEL_PROVIDER_TOKENS,
  ...STANDARD_CREDENTIALS,
  ...NAMED_SECRETS,
];
