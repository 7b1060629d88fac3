import { readKinds } from './kind-table.ts';
import type { CredentialKind } from './pattern.ts';

/** Credentials of the providers of models, and of what agents are built with. Lengths as in `vendor-tokens.ts`. */
export const MODEL_PROVIDER_TOKENS: readonly CredentialKind[] = readKinds(`
anthropic-api-key  ^sk-ant-{url 20}
  Anthropic API and admin keys gitleaks:anthropic-api-key
openrouter-api-key  ^sk-or-{url 24}
  OpenRouter API key https://openrouter.ai/docs/guides/features/guardrails/secret-formats
langfuse-key  ^(sk|pk)-lf-{uuid 30}
  Langfuse secret and public keys https://langfuse.com/docs/api
helicone-api-key  ^sk-helicone-{url 20~}
  Helicone API key https://docs.helicone.ai/helicone-headers/helicone-auth
openai-api-key  ^sk-(proj|svcacct|admin|service)-{url 20} ^sk-{alnum 20~}{url 0}
  OpenAI project, service account, admin and legacy keys, and those of the many that copied sk- gitleaks:openai-api-key
google-api-key  AIza{url 28}
  Google API key gitleaks:gcp-api-key
google-oauth  ya29.{url 20} GOCSPX-{url 20} 1//0{url 30}
  Google OAuth access token, refresh token and client secret https://docs.cloud.google.com/docs/authentication/token-types
hugging-face-token  (hf|api_org)_{alnum 20~}
  Hugging Face user and organization tokens gitleaks:huggingface-access-token
groq-api-key  gsk_{alnum 20~}
  Groq API key https://openrouter.ai/docs/guides/features/guardrails/secret-formats
perplexity-api-key  pplx-{alnum 20~}
  Perplexity API key gitleaks:perplexity-api-key
replicate-api-token  r8_{url 24~}
  Replicate API token https://replicate.com/docs/reference/http#authentication
xai-api-key  xai-{url 40~}
  xAI API key trufflehog:xai
nvidia-api-key  nvapi-{url 40}
  NVIDIA NIM and NGC API key trufflehog:nvapi
langsmith-api-key  lsv2_(pt|sk)_{hex+_ 32} ls__{hex 32}
  LangSmith personal and service keys trufflehog:langsmith
pinecone-api-key  pcsk_{alnum 4-8}_{alnum 30}
  Pinecone API key trufflehog:pinecone
elevenlabs-api-key  sk_{hex 48-48}!
  ElevenLabs API key kingfisher:elevenlabs.yml
apify-api-token  apify_api_{alnum 30~}
  Apify API token trufflehog:apify
voiceflow-api-key  VF.{HEX 24-24}.{alnum 16} VF.(DM|WS).{HEX 24-24}.{alnum 16}
  Voiceflow API key trufflehog:voiceflow
salad-cloud-api-key  salad_cloud_{alnum 1-7}_{alnum 20~}
  SaladCloud API key trufflehog:saladcloudapikey
cerebras-api-key  csk-{lower 40~}
  Cerebras API key https://inference-docs.cerebras.ai/quickstart
fireworks-api-key  fw_{alnum 22~}
  Fireworks AI API key https://docs.fireworks.ai/api-reference/introduction
together-api-key  tgp_v1_{url 30}
  Together AI API key https://docs.together.ai/reference/authentication-1
tavily-api-key  tvly-{url 24~}
  Tavily API key https://docs.tavily.com/guides/quickstart
firecrawl-api-key  fc-{hex 32-32}!
  Firecrawl API key https://docs.firecrawl.dev/api-reference/introduction
jina-api-key  jina_{url 40~}
  Jina AI API key https://jina.ai/api-dashboard
e2b-api-key  e2b_{hex 36}
  E2B API key https://github.com/e2b-dev/E2B
llama-cloud-api-key  llx-{url 30~}
  LlamaCloud API key https://docs.cloud.llamaindex.ai/api_key
runpod-api-key  rpa_{alnum 30~}
  RunPod API key https://docs.runpod.io/get-started/api-keys
browserbase-api-key  bb_(live|test)_{url 20~}
  Browserbase API key https://docs.browserbase.com/reference/api
`);
