import { ALNUM, BASE64URL } from './char-class.ts';
import { type CredentialKind, keyword, run, token, tokens } from './pattern.ts';

/** Gitleaks keeps the formats that vendors do not publish. */
const GITLEAKS = 'https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml';

/** Credentials of the providers of models. Lengths as in `vendor-tokens.ts`. */
export const MODEL_PROVIDER_TOKENS: readonly CredentialKind[] = [
  {
    kind: 'anthropic-api-key',
    title: 'Anthropic API and admin keys',
    source: `${GITLEAKS}#anthropic-api-key`,
    patterns: [keyword('sk-ant-', run(BASE64URL, 20))],
  },
  {
    kind: 'openrouter-api-key',
    title: 'OpenRouter API key',
    source: 'https://openrouter.ai/docs/guides/features/guardrails/secret-formats',
    patterns: [keyword('sk-or-', run(BASE64URL, 24))],
  },
  {
    kind: 'openai-api-key',
    title: 'OpenAI project, service account, admin and legacy keys, and those of the many that copied `sk-`',
    source: `${GITLEAKS}#openai-api-key`,
    patterns: [
      ...['sk-proj-', 'sk-svcacct-', 'sk-admin-'].map((prefix) => keyword(prefix, run(BASE64URL, 20))),
      // No hyphen among the first 20: class names of style sheets and `sk-learn-…` have one.
      keyword('sk-', run(ALNUM, 20), run(BASE64URL, 0)),
    ],
  },
  {
    kind: 'google-api-key',
    title: 'Google API key',
    source: `${GITLEAKS}#gcp-api-key`,
    patterns: [token('AIza', run(BASE64URL, 28))],
  },
  {
    kind: 'google-oauth',
    title: 'Google OAuth access token and client secret',
    source: 'https://docs.cloud.google.com/docs/authentication/token-types',
    patterns: [token('ya29.', run(BASE64URL, 20)), token('GOCSPX-', run(BASE64URL, 20))],
  },
  {
    kind: 'hugging-face-token',
    title: 'Hugging Face user and organization tokens',
    source: `${GITLEAKS}#huggingface-access-token`,
    patterns: tokens('hf_ api_org_', run(ALNUM, 20)),
  },
  {
    kind: 'groq-api-key',
    title: 'Groq API key',
    source: 'https://openrouter.ai/docs/guides/features/guardrails/secret-formats',
    patterns: [token('gsk_', run(ALNUM, 20))],
  },
  {
    kind: 'perplexity-api-key',
    title: 'Perplexity API key',
    source: `${GITLEAKS}#perplexity-api-key`,
    patterns: [token('pplx-', run(ALNUM, 20))],
  },
  {
    kind: 'replicate-api-token',
    title: 'Replicate API token',
    source: 'https://replicate.com/docs/reference/http#authentication',
    patterns: [token('r8_', run(ALNUM, 24))],
  },
];
